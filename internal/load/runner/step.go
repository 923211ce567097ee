package runner

import (
	"context"

	"github.com/gobench-io/gobench/executor/scenario"
)

// step is the user of an Executor; all users of a class share the Executor.
type step struct {
	exec    scenario.Executor
	prepare scenario.Preparer // nil if the Executor is no Preparer
	ctx     context.Context   // of the next ExecContext, returned by PrepareContext
}

// newStep returns a user that calls exec, which all users of the class share.
func newStep(exec scenario.Executor) *step {
	p, _ := exec.(scenario.Preparer)
	return &step{exec: exec, prepare: p}
}

// Prepare runs PrepareContext, if there is one, which is not timed, and stores the context for
// Iterate: the one that it returns, or ctx if that is nil. The error is PrepareContext's.
func (s *step) Prepare(ctx context.Context) (err error) {
	s.ctx = ctx
	if s.prepare != nil {
		if s.ctx, err = s.prepare.PrepareContext(ctx); s.ctx == nil {
			s.ctx = ctx
		}
	}
	return err
}

// Iterate runs ExecContext with the ctx of the last Prepare, which must have been called.
func (s *step) Iterate(context.Context) error {
	_, err := s.exec.ExecContext(s.ctx)
	return err
}

var _ preparer = (*step)(nil)
