package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gobench-io/gobench/internal/run"
)

// ImportRun stores a final run, without application and source, with its result, the intakes
// without their Results, and by as the user of its one transition. It sets o.Number and
// o.Version (1). The error wraps run.ErrConflict if the run exists. intakes is called once at
// most; other writes wait for it, and it must not write to s. Its error is returned.
func (s *Store) ImportRun(ctx context.Context, o *run.Order, r *run.Result, by string, intakes func(take func(*run.Intake) error) error) error {
	switch {
	case !run.ValidID(o.ID) || r.ID != o.ID:
		return &run.InputError{Field: "id", Text: "is not the id of a run"}
	case !o.State.Final():
		return &run.InputError{Field: "state", Text: "a run that is imported is over"}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("result of run %s: %w", r.ID, err)
	}
	result := s.zip.Pack(text)
	final := *o
	final.Application, final.Verdict = "", r.Verdict
	var number int64
	err = s.write(ctx, func(t *tx) error {
		var err error
		number, err = t.addRun(&final, run.Source{}, run.Transition{Cause: "imported", By: by, At: s.options.Now()}, int64(len(result)))
		if err != nil {
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
