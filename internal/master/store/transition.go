package store

import (
	"context"
	"fmt"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// Transition changes the state of a run that has this version, adds that to its transitions,
// with by as the user, and returns the changed run. when becomes the time of the run's start
// if to is Running, and of its end if to is final. The error wraps run.ErrConflict if the
// version is another, if run.State.May does not allow the change, or if the run would become
// active while another one is.
func (s *Store) Transition(ctx context.Context, id string, version int64, to run.State, cause, by string, when time.Time) (*run.Order, error) {
	var o run.Order
	err := s.write(ctx, func(t *tx) error {
		var err error
		o, err = readOrder(t.QueryRowContext(ctx, `SELECT `+orderColumns+` FROM runs WHERE id = $1 AND deleted = 0`, clean(id)).Scan)
		ok, err := found(err)
		switch {
		case err != nil:
			return err
		case !ok:
			return missing(runNamed(id))
		case o.Version != version:
			return conflict(fmt.Sprintf("run %s has changed meanwhile: it is %s", id, o.State))
		case !o.State.May(to):
			return conflict(fmt.Sprintf("run %s is %s and can't become %s", id, o.State, to))
		}
		if to.Active() {
			var other string
			ok, err := t.one(`SELECT id FROM runs WHERE active = 1 AND id <> $1`, []any{o.ID}, &other)
			if err != nil {
				return err
			}
			if ok {
				return conflict(fmt.Sprintf("run %s can't become %s while run %s is active", id, to, other))
			}
		}
		from := o.State
		o.State, o.Version, o.Cause = to, version+1, clean(cause)
		if to == run.Running {
			o.Started = at(ns(when))
		}
		if to.Final() {
			o.Ended = at(ns(when))
		}
		if err := t.run(`UPDATE runs SET state = $1, version = $2, cause = $3, started = $4, ended = $5, active = $6, final = $7 WHERE number = $8`,
			string(to), o.Version, o.Cause, ns(o.Started), ns(o.Ended), btoi(to.Active()), btoi(to.Final()), o.Number); err != nil {
			return err
		}
		return t.run(`INSERT INTO transitions (run, version, from_state, to_state, cause, by_whom, at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			o.Number, o.Version, string(from), string(to), o.Cause, clean(by), ns(when))
	})
	if err != nil {
		return nil, err
	}
	return &o, nil
}

// Transitions returns the changes of a run's state, the oldest first, beginning with its
// creation or import, which has no From.
func (s *Store) Transitions(ctx context.Context, id string) ([]run.Transition, error) {
	number, err := s.number(ctx, id)
	if err != nil {
		return nil, err
	}
	return list(ctx, s, `SELECT version, from_state, to_state, cause, by_whom, at FROM transitions WHERE run = $1 ORDER BY version`, []any{number},
		func(scan func(...any) error) (run.Transition, error) {
			c := run.Transition{Run: id}
			var when int64
			err := scan(&c.Version, &c.From, &c.To, &c.Cause, &c.By, &when)
			c.At = at(when)
			return c, err
		})
}
