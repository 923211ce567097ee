package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// CreateRun stores a new queued run with its source, and sets o.Number, o.Version (1) and
// o.State. The error wraps run.ErrConflict if the id exists, and run.ErrNotFound if
// o.Application is set and does not exist.
func (s *Store) CreateRun(ctx context.Context, o *run.Order, source run.Source) error {
	if !run.ValidID(o.ID) {
		return &run.InputError{Field: "id", Text: "is not the id of a run"}
	}
	if o.State != run.Queued && o.State != "" {
		return &run.InputError{Field: "state", Text: "a new run is queued"}
	}
	fresh := *o
	fresh.State, fresh.Verdict, fresh.Started, fresh.Ended = run.Queued, "", time.Time{}, time.Time{}
	var number int64
	err := s.write(ctx, func(t *tx) (err error) {
		number, err = t.addRun(&fresh, source, run.Transition{Cause: o.Cause, By: o.Owner, At: o.Created}, 0)
		return err
	})
	if err == nil {
		o.Number, o.Version, o.State = number, 1, run.Queued
	}
	return err
}

// addRun stores a run with its source and its first transition, to o.State, and returns its
// number. bytes is the size of the result that the caller adds. It checks neither o.ID nor
// o.State, which must be queued or final. Other errors are those of CreateRun.
func (t *tx) addRun(o *run.Order, source run.Source, first run.Transition, bytes int64) (number int64, err error) {
	options, err := json.Marshal(o.Options)
	if err != nil {
		return 0, &run.InputError{Field: "options", Text: err.Error()}
	}
	if ok, err := t.one(`SELECT number FROM runs WHERE id = $1`, []any{o.ID}, &number); err != nil {
		return 0, err
	} else if ok {
		return 0, conflict(fmt.Sprintf("run %s is there already", o.ID))
	}
	var application any // NULL without an application
	if o.Application != "" {
		application = o.Application
		if ok, err := t.one(`SELECT number FROM applications WHERE id = $1`, []any{o.Application}, &number); err != nil {
			return 0, err
		} else if !ok {
			return 0, missing("application " + strconv.Quote(o.Application))
		}
	}
	hash, err := t.putSource(source)
	if err != nil {
		return 0, err
	}
	if number, err = t.count("runs"); err != nil {
		return 0, err
	}
	if err := t.run(`INSERT INTO runs (number, id, application, name, name_lower, owner, state, version, cause, verdict,
		created, started, ended, options, source, active, final, deleted, bytes, step, newest, fine_from, ten_from)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8, $9, $10, $11, $12, $13, $14, 0, $15, 0, $16, 0, 0, 0, 0)`,
		number, o.ID, application, clean(o.Name), lower(o.Name), clean(o.Owner), string(o.State), clean(o.Cause), string(o.Verdict),
		ns(o.Created), ns(o.Started), ns(o.Ended), string(options), hash, btoi(o.State.Final()), bytes); err != nil {
		return 0, err
	}
	return number, t.run(`INSERT INTO transitions (run, version, from_state, to_state, cause, by_whom, at) VALUES ($1, 1, '', $2, $3, $4, $5)`,
		number, string(o.State), clean(first.Cause), clean(first.By), ns(first.At))
}

// orderColumns are the columns that readOrder reads.
const orderColumns = `number, id, COALESCE(application, ''), name, owner, state, version, cause, verdict, created, started, ended, options`

// readOrder reads a row of orderColumns. The error is that of scan, or about options that are
// damaged.
func readOrder(scan func(...any) error) (o run.Order, err error) {
	var created, started, ended int64
	var options string
	if err := scan(&o.Number, &o.ID, &o.Application, &o.Name, &o.Owner, &o.State, &o.Version, &o.Cause, &o.Verdict, &created, &started, &ended, &options); err != nil {
		return o, err
	}
	o.Created, o.Started, o.Ended = at(created), at(started), at(ended)
	if err := json.Unmarshal([]byte(options), &o.Options); err != nil {
		return o, fmt.Errorf("options of run %s: %w", o.ID, err)
	}
	return o, nil
}

func runNamed(id string) string { return "run " + strconv.Quote(id) }

// Run returns a run by its id.
func (s *Store) Run(ctx context.Context, id string) (*run.Order, error) {
	return get(ctx, s, runNamed(id), `SELECT `+orderColumns+` FROM runs WHERE id = $1 AND deleted = 0`, []any{clean(id)}, readOrder)
}

// RunSource returns the source of a run by the run's id. That of an imported run is empty.
func (s *Store) RunSource(ctx context.Context, id string) (run.Source, error) {
	return s.source(ctx, runNamed(id), `SELECT source FROM runs WHERE id = $1 AND deleted = 0`, clean(id))
}

// Runs returns a page of runs, the newest first, and the cursor of the next page, "" after the
// last one. Filter.Tag is a tag of a run's application. It is an error if the filter's limit,
// cursor or text is not valid.
func (s *Store) Runs(ctx context.Context, f run.Filter) (page []run.Order, next string, err error) {
	q, err := newQuestion(f)
	if err != nil {
		return nil, "", err
	}
	if f.State != "" {
		q.and(`state = ?`, clean(string(f.State)))
	}
	if f.Application != "" {
		q.and(`application = ?`, clean(f.Application))
	}
	if f.Tag != "" {
		q.and(`application IN (SELECT application FROM application_tags WHERE tag = ?)`, clean(f.Tag))
	}
	page, err = list(ctx, s, `SELECT `+orderColumns+` FROM runs WHERE deleted = 0 AND `+q.text()+` ORDER BY number DESC LIMIT `+strconv.Itoa(q.limit+1), q.args, readOrder)
	if err != nil {
		return nil, "", err
	}
	if len(page) > q.limit {
		page = page[:q.limit]
		next = strconv.FormatInt(page[q.limit-1].Number, 10)
	}
	return page, next, nil
}

// RunIDs returns the ids of all runs, in no order.
func (s *Store) RunIDs(ctx context.Context) ([]string, error) {
	return list(ctx, s, `SELECT id FROM runs WHERE deleted = 0`, nil,
		func(scan func(...any) error) (id string, err error) { err = scan(&id); return id, err })
}

// Unfinished returns all runs that are not final, sorted by number.
func (s *Store) Unfinished(ctx context.Context) ([]run.Order, error) {
	return list(ctx, s, `SELECT `+orderColumns+` FROM runs WHERE final = 0 ORDER BY number`, nil, readOrder)
}

// number returns a run's number, which is its key in other tables, by the run's id. The error
// wraps run.ErrNotFound if there is no such run.
func (s *Store) number(ctx context.Context, id string) (n int64, err error) {
	ok, err := found(s.r.QueryRowContext(ctx, `SELECT number FROM runs WHERE id = $1 AND deleted = 0`, clean(id)).Scan(&n))
	if err == nil && !ok {
		err = missing(runNamed(id))
	}
	return n, s.failed(err)
}

// PutResult stores the result of the run r.ID in place of an earlier one, and its verdict in
// the run.
func (s *Store) PutResult(ctx context.Context, r *run.Result) error {
	number, err := s.number(ctx, r.ID)
	if err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("result of run %s: %w", r.ID, err)
	}
	packed := s.zip.Pack(text)
	return s.write(ctx, func(t *tx) error { return t.putResult(number, r, packed) })
}

// putResult stores the result of a run, of which packed is the compressed form, and its
// verdict. The error wraps run.ErrNotFound if the run is deleted.
func (t *tx) putResult(number int64, r *run.Result, packed []byte) error {
	var before int64
	if _, err := t.one(`SELECT LENGTH(data) FROM results WHERE run = $1`, []any{number}, &before); err != nil {
		return err
	}
	n, err := t.exec(`UPDATE runs SET verdict = $1, bytes = bytes + $2 WHERE number = $3 AND deleted = 0`, string(r.Verdict), int64(len(packed))-before, number)
	if err != nil {
		return err
	}
	if n == 0 {
		return missing(runNamed(r.ID))
	}
	return t.run(`INSERT INTO results (run, data) VALUES ($1, $2) ON CONFLICT (run) DO UPDATE SET data = excluded.data`, number, packed)
}

// Result returns the result of a run by the run's id. The error wraps run.ErrNotFound also if
// the run has no result yet.
func (s *Store) Result(ctx context.Context, id string) (*run.Result, error) {
	packed, err := get(ctx, s, "result of "+runNamed(id), `SELECT data FROM results WHERE run = (SELECT number FROM runs WHERE id = $1 AND deleted = 0)`, []any{clean(id)},
		func(scan func(...any) error) (b []byte, err error) { err = scan(&b); return b, err })
	if err != nil {
		return nil, err
	}
	text, err := s.zip.Unpack(*packed)
	if err != nil {
		return nil, err
	}
	r := new(run.Result)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("result of run %s: %w", id, err)
	}
	if err := r.Accept(); err != nil {
		return nil, fmt.Errorf("result of run %s: %w", id, err)
	}
	return r, nil
}
