package master

import (
	"context"
	"errors"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// maxTries bounds the attempts of retry, to about a minute.
const maxTries = 18

// retry calls f, which reads or writes the store, until it returns nil, and again for about a
// minute if it fails, as when the disk is full or the database restarts; it logs each failure
// with what. It returns the last error; at once one that no further attempt changes: of what
// does not exist, has changed or is invalid. Once ctx has ended there is only one attempt more.
func (m *Master) retry(ctx context.Context, what string, f func() error) error {
	wait := 100 * time.Millisecond
	for tries := 1; ; tries++ {
		last := ctx.Err() != nil
		err := f()
		if err == nil || lasting(ctx, err) {
			return err
		}
		if last || tries > maxTries {
			m.Logger.Error(what+": no further attempt", "error", err)
			return err
		}
		m.Logger.Error(what, "error", err, "again_in", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		wait = min(2*wait, 5*time.Second)
	}
}

// lasting reports whether err, of a call of the store with ctx, would be the same the next time.
func lasting(ctx context.Context, err error) bool {
	var taken *run.TakenError // two masters, or a faulty agent: the operator must investigate
	var input *run.InputError
	return errors.Is(err, run.ErrNotFound) || errors.Is(err, run.ErrConflict) || errors.As(err, &taken) || errors.As(err, &input) ||
		ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}
