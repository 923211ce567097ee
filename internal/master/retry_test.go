package master

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// shakyStore is a store of which every second call fails once it is shaky, as the first one.
type shakyStore struct {
	Store
	shaky   atomic.Bool
	unclear bool // a transition that fails is stored
	calls   atomic.Int64
	deleted string // id of a run that is deleted as it is to begin
}

func (s *shakyStore) fails() error {
	if s.shaky.Load() && s.calls.Add(1)%2 == 1 {
		return fmt.Errorf("call %d: %w", s.calls.Load(), run.ErrFull)
	}
	return nil
}

func (s *shakyStore) Unfinished(ctx context.Context) ([]run.Order, error) {
	if err := s.fails(); err != nil {
		return nil, err
	}
	return s.Store.Unfinished(ctx)
}

func (s *shakyStore) RunSource(ctx context.Context, id string) (run.Source, error) {
	if err := s.fails(); err != nil {
		return run.Source{}, err
	}
	return s.Store.RunSource(ctx, id)
}

func (s *shakyStore) PutResult(ctx context.Context, r *run.Result) error {
	if err := s.fails(); err != nil {
		return err
	}
	return s.Store.PutResult(ctx, r)
}

func (s *shakyStore) Take(ctx context.Context, in *run.Intake) error {
	if err := s.fails(); err != nil {
		return err
	}
	return s.Store.Take(ctx, in)
}

func (s *shakyStore) Transition(ctx context.Context, id string, version int64, to run.State, cause, by string, at time.Time) (*run.Order, error) {
	if s.deleted == id && to == run.Compiling {
		if _, err := s.Store.Transition(ctx, id, version, run.Cancelled, cause, by, at); err != nil {
			return nil, err
		}
		if err := s.Store.DeleteRun(ctx, id); err != nil {
			return nil, err
		}
	}
	if err := s.fails(); err != nil {
		if s.unclear {
			_, stored := s.Store.Transition(ctx, id, version, to, cause, by, at)
			err = errors.Join(err, stored)
		}
		return nil, err
	}
	return s.Store.Transition(ctx, id, version, to, cause, by, at)
}

// A store that fails now and then, and may have stored what it failed at, ends neither a run nor
// the master.
func TestShakyStore(t *testing.T) {
	t.Parallel()
	for _, unclear := range []bool{false, true} {
		for _, compiles := range []bool{true, false} {
			t.Run(fmt.Sprint(unclear, compiles), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					r := newRig(t, "one")
					r.end()
					store := &shakyStore{Store: r.store, unclear: unclear}
					r.with = store
					r.begin()
					r.standing("one", agentReady)
					r.of("one").finishes()
					want := []run.State{run.Queued, run.Compiling, run.Starting, run.Running, run.Finished}
					if !compiles { // without a record
						r.compiler.set(&CompileError{Text: "no"}, nil)
						want = []run.State{run.Queued, run.Compiling, run.Failed}
					}
					store.shaky.Store(true)
					id := r.submit(run.Options{})
					x := r.result(id)
					if x.State != want[len(want)-1] || compiles && count(x, "home.http_ok") != 10 {
						t.Errorf("the run is %s (%s), counts %d", x.State, x.Cause, count(x, "home.http_ok"))
					}
					all, err := r.Transitions(context.Background(), id)
					if err != nil {
						t.Fatal(err)
					}
					var got []run.State
					for _, c := range all {
						if c.To != run.Stopping { // a run so short may skip it
							got = append(got, c.To)
						}
					}
					if fmt.Sprint(got) != fmt.Sprint(want) {
						t.Errorf("the states are %v, want %v", got, want)
					}
				})
			})
		}
	}
}

// A run that is cancelled and deleted as it is to begin does not end the master.
func TestDeletedAsItBegins(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.end()
		store := &shakyStore{Store: r.store}
		r.with = store
		r.begin()
		first, second := r.submit(run.Options{}), r.submit(run.Options{})
		store.deleted = first
		r.agent("one").finishes()
		if x := r.result(second); x.State != run.Finished {
			t.Errorf("the run is %s (%s)", x.State, x.Cause)
		}
	})
}
