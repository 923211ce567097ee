package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gobench-io/gobench/internal/run"
)

// ImportRun stores a final run in one transaction, with its result, the intakes without their
// Results, and by as the user of its one transition. It sets o.Number and o.Version (1). The
// error wraps run.ErrConflict if the run exists. intakes is called once, within the
// transaction: other writes wait for it, and it must not write to s. Its error is returned.
func (s *Store) ImportRun(ctx context.Context, o *run.Order, r *run.Result, by string, intakes func(take func(*run.Intake) error) error) error {
	switch {
	case !run.ValidID(o.ID) || r.ID != o.ID:
		return &run.InputError{Field: "id", Text: "is not the id of a run"}
	case !o.State.Final():
		return &run.InputError{Field: "state", Text: "a run that is imported is over"}
	}
	options, err := json.Marshal(o.Options)
	if err != nil {
		return &run.InputError{Field: "options", Text: err.Error()}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("result of run %s: %w", r.ID, err)
	}
	result := s.zip.Pack(text)
	var number int64
	err = s.write(ctx, func(t *tx) error {
		if ok, err := t.one(`SELECT number FROM runs WHERE id = $1`, []any{o.ID}, &number); err != nil {
			return err
		} else if ok {
			return conflict(fmt.Sprintf("run %s is there already", o.ID))
		}
		hash, err := t.putSource(run.Source{})
		if err != nil {
			return err
		}
		if number, err = t.count("runs"); err != nil {
			return err
		}
		if err := t.run(`INSERT INTO runs (number, id, application, name, name_lower, owner, state, version, cause, verdict,
			created, started, ended, options, source, active, final, deleted, bytes, step, newest, fine_from, ten_from)
			VALUES ($1, $2, NULL, $3, $4, $5, $6, 1, $7, $8, $9, $10, $11, $12, $13, 0, 1, 0, $14, 0, 0, 0, 0)`,
			number, o.ID, clean(o.Name), lower(o.Name), clean(o.Owner), string(o.State), clean(o.Cause), string(r.Verdict),
			ns(o.Created), ns(o.Started), ns(o.Ended), string(options), hash, int64(len(result))); err != nil {
			return err
		}
		if err := t.run(`INSERT INTO transitions (run, version, from_state, to_state, cause, by_whom, at) VALUES ($1, 1, '', $2, $3, $4, $5)`,
			number, string(o.State), "imported", clean(by), ns(s.options.Now())); err != nil {
			return err
		}
		if err := t.run(`INSERT INTO results (run, data) VALUES ($1, $2)`, number, result); err != nil {
			return err
		}
		k := &intake{tx: t, numbers: map[string]int64{o.ID: number}, grown: map[int64]*growth{number: {}}}
		err = intakes(func(in *run.Intake) error {
			packed := make([][]byte, len(in.Series))
			for i, p := range in.Series {
				packed[i] = s.zip.PackCounts(p.Data)
			}
			return k.keep(in, packed)
		})
		if err != nil {
			return err
		}
		return k.grow()
	})
	if err == nil {
		o.Number, o.Version = number, 1
	}
	return err
}
