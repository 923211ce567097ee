package runner

import (
	"context"
	"fmt"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/measure/meter"
)

// stepsOf returns the steps of each iteration of a class: those of Steps, or that of Exec, which
// has no name; nil if the class has neither.
func stepsOf(vu scenario.Vu) []scenario.Step {
	if vu.Exec != nil {
		return []scenario.Step{{Exec: vu.Exec}}
	}
	return vu.Steps
}

// checkSteps validates the steps of a class.
func checkSteps(steps []scenario.Step) error {
	names := map[string]bool{}
	for i, s := range steps {
		switch {
		case s.Exec == nil:
			return fmt.Errorf("field Steps: step %d (%q) has no Exec", i+1, s.Name)
		case s.Name == "" || len(s.Name) > maxName || hasControls(s.Name):
			return fmt.Errorf("field Steps: step %d has the Name %q: want 1 to %d bytes without control characters", i+1, s.Name, maxName)
		case names[s.Name]:
			return fmt.Errorf("field Steps: two steps have the Name %q: each needs its own", s.Name)
		}
		names[s.Name] = true
	}
	return nil
}

// stepper is a user that takes the steps of its class, one after the other, in each iteration.
type stepper struct {
	steps []scenario.Step // of all users of the class
	ctx   context.Context // of the first step of the next iteration
	end   func()          // ends the contexts of an iteration; nil if it has been called
	scope *meter.Scope
}

// Prepare prepares the first step, which is not timed, and stores the context for Iterate. The
// contexts of several steps end with their iteration.
func (s *stepper) Prepare(ctx context.Context) (err error) {
	s.Close()
	if len(s.steps) > 1 {
		ctx, s.end = context.WithCancel(ctx)
	}
	s.ctx, err = prepare(ctx, s.steps[0])
	return err
}

// Close ends the contexts of the last iteration.
func (s *stepper) Close() {
	if s.end != nil {
		s.end()
		s.end = nil
	}
}

// prepare returns the context for a step: that of PrepareContext, if it is a Preparer and returns
// one, else ctx. The error is PrepareContext's.
func prepare(ctx context.Context, step scenario.Step) (context.Context, error) {
	p, ok := step.Exec.(scenario.Preparer)
	if !ok {
		return ctx, nil
	}
	next, err := p.PrepareContext(ctx)
	if next == nil {
		next = ctx
	}
	return next, err
}

// Iterate takes the steps, each with the context of the one before it, until one fails. The last
// Prepare is for the first of them. A step with a name is timed, without its preparation.
func (s *stepper) Iterate(ctx context.Context) error {
	defer s.Close()
	at := s.ctx
	for i, step := range s.steps {
		err := ctx.Err()
		if i > 0 && err == nil {
			if at, err = prepare(at, step); err != nil {
				return fmt.Errorf("prepare step %q: %w", step.Name, err)
			}
		}
		exec := func() error {
			next, err := step.Exec.ExecContext(at)
			if next != nil {
				at = next
			}
			return err
		}
		switch {
		case err != nil:
		case step.Name == "":
			err = exec()
		default:
			err = s.scope.Time(ctx, step.Name, exec)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var _ preparer = (*stepper)(nil)
