package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gobench-io/gobench/internal/run"
)

// PutApplication stores a new application (Version 0), or a changed one whose Version is the
// stored one, with its source and tags, and sets a.Version to the new version. Created never
// changes. The error wraps run.ErrConflict if the version is another or a new one's id exists,
// and run.ErrNotFound if a changed one does not exist.
func (s *Store) PutApplication(ctx context.Context, a *run.Application) error {
	version := a.Version
	err := s.write(ctx, func(t *tx) error {
		hash, err := t.putSource(a.Source)
		if err != nil {
			return err
		}
		if version == 0 {
			err = t.addApplication(a, hash)
		} else {
			err = t.changeApplication(a, hash)
		}
		if err != nil {
			return err
		}
		var rows [][]any
		for i, tag := range a.Tags {
			rows = append(rows, []any{a.ID, i, clean(tag)})
		}
		_, err = t.insert("application_tags (application, place, tag)", "", rows)
		return err
	})
	if err == nil {
		a.Version = version + 1
	}
	return err
}

// addApplication stores a new application, whose source has this hash, without its tags. The
// errors are those of PutApplication. Call putSource before.
func (t *tx) addApplication(a *run.Application, source string) error {
	if a.ID == "" || a.ID != clean(a.ID) {
		return &run.InputError{Field: "id", Text: "must be UTF-8 without NUL, and not empty"}
	}
	var number int64
	if ok, err := t.one(`SELECT number FROM applications WHERE id = $1`, []any{a.ID}, &number); err != nil {
		return err
	} else if ok {
		return conflict(fmt.Sprintf("application %s is there already", a.ID))
	}
	number, err := t.count("applications")
	if err != nil {
		return err
	}
	return t.run(`INSERT INTO applications (number, id, name, name_lower, owner, version, created, changed, source)
		VALUES ($1, $2, $3, $4, $5, 1, $6, $7, $8)`,
		number, a.ID, clean(a.Name), lower(a.Name), clean(a.Owner), ns(a.Created), ns(a.Changed), source)
}

// changeApplication stores a changed application, whose source has this hash, and deletes its
// tags, and its previous source if nothing else uses it. The errors are those of
// PutApplication. Call putSource before.
func (t *tx) changeApplication(a *run.Application, source string) error {
	var version int64
	var before string
	ok, err := t.one(`SELECT version, source FROM applications WHERE id = $1`, []any{clean(a.ID)}, &version, &before)
	switch {
	case err != nil:
		return err
	case !ok:
		return missing("application " + strconv.Quote(a.ID))
	case version != a.Version:
		return conflict(fmt.Sprintf("application %s has been changed meanwhile: its version is %d, not %d", a.ID, version, a.Version))
	}
	if err := t.run(`UPDATE applications SET name = $1, name_lower = $2, owner = $3, version = version + 1, changed = $4, source = $5 WHERE id = $6`,
		clean(a.Name), lower(a.Name), clean(a.Owner), ns(a.Changed), source, a.ID); err != nil {
		return err
	}
	if err := t.run(`DELETE FROM application_tags WHERE application = $1`, a.ID); err != nil {
		return err
	}
	return t.dropSources(before)
}

// Application returns an application by its id, with its source and tags.
func (s *Store) Application(ctx context.Context, id string) (*run.Application, error) {
	what := "application " + strconv.Quote(id)
	a, err := get(ctx, s, what, `SELECT id, name, owner, version, created, changed FROM applications WHERE id = $1`, []any{clean(id)}, readApplication)
	if err != nil {
		return nil, err
	}
	if err := s.tags(ctx, []*run.Application{a}); err != nil {
		return nil, err
	}
	a.Source, err = s.source(ctx, what, `SELECT source FROM applications WHERE id = $1`, clean(id))
	return a, err
}

// readApplication reads a row of id, name, owner, version, created and changed, without tags
// and source. The error is that of scan.
func readApplication(scan func(...any) error) (a run.Application, err error) {
	var created, changed int64
	err = scan(&a.ID, &a.Name, &a.Owner, &a.Version, &created, &changed)
	a.Created, a.Changed = at(created), at(changed)
	return a, err
}

// tags sets the tags of applications, in order; without tags they are empty and not nil. After
// an error they are incomplete.
func (s *Store) tags(ctx context.Context, all []*run.Application) error {
	if len(all) == 0 {
		return nil
	}
	by := map[string]*run.Application{}
	var args []any
	for _, a := range all {
		a.Tags = []string{}
		by[a.ID] = a
		args = append(args, a.ID)
	}
	return s.each(ctx, s.r, `SELECT application, tag FROM application_tags WHERE application IN `+places(len(args))+` ORDER BY application, place`,
		args, func(scan func(...any) error) error {
			var id, tag string
			err := scan(&id, &tag)
			if a := by[id]; a != nil {
				a.Tags = append(a.Tags, tag)
			}
			return err
		})
}

// Applications returns a page of applications, the newest first, with their tags and without
// sources, and the cursor of the next page, "" after the last one. f.State is ignored.
func (s *Store) Applications(ctx context.Context, f run.Filter) (page []run.Application, next string, err error) {
	q, err := newQuestion(f)
	if err != nil {
		return nil, "", err
	}
	if f.Tag != "" {
		q.and(`id IN (SELECT application FROM application_tags WHERE tag = ?)`, clean(f.Tag))
	}
	if f.Application != "" {
		q.and(`id = ?`, clean(f.Application))
	}
	var numbers []int64
	page, err = list(ctx, s, `SELECT id, name, owner, version, created, changed, number FROM applications WHERE `+q.text()+` ORDER BY number DESC LIMIT `+strconv.Itoa(q.limit+1), q.args,
		func(scan func(...any) error) (run.Application, error) {
			var number int64
			a, err := readApplication(func(dest ...any) error { return scan(append(dest, &number)...) })
			numbers = append(numbers, number)
			return a, err
		})
	if err != nil {
		return nil, "", err
	}
	if len(page) > q.limit {
		page, next = page[:q.limit], strconv.FormatInt(numbers[q.limit-1], 10)
	}
	var all []*run.Application
	for i := range page {
		all = append(all, &page[i])
	}
	return page, next, s.tags(ctx, all)
}

// DeleteApplication deletes an application with its runs. The error wraps run.ErrConflict if
// one of them is not final; then nothing is deleted. Like DeleteRun, it hides all in one
// transaction and then deletes the rows of the runs.
func (s *Store) DeleteApplication(ctx context.Context, id string) error {
	var runs []int64
	err := s.write(ctx, func(t *tx) error {
		var source, going string
		ok, err := t.one(`SELECT source FROM applications WHERE id = $1`, []any{clean(id)}, &source)
		if err != nil {
			return err
		}
		if !ok {
			return missing("application " + strconv.Quote(id))
		}
		ok, err = t.one(`SELECT id FROM runs WHERE application = $1 AND final = 0 ORDER BY number LIMIT 1`, []any{id}, &going)
		if err != nil {
			return err
		}
		if ok {
			return conflict(fmt.Sprintf("run %s of application %s has not ended: cancel it first", going, id))
		}
		// Its runs are marked as deleted here, and their rows are deleted below.
		if err := t.s.each(ctx, t, `SELECT number FROM runs WHERE application = $1`, []any{id}, func(scan func(...any) error) error {
			var n int64
			err := scan(&n)
			runs = append(runs, n)
			return err
		}); err != nil {
			return err
		}
		for _, query := range []string{
			`UPDATE runs SET application = NULL, deleted = 1 WHERE application = $1`,
			`DELETE FROM application_tags WHERE application = $1`,
			`DELETE FROM applications WHERE id = $1`,
		} {
			if err := t.run(query, id); err != nil {
				return err
			}
		}
		return t.dropSources(source)
	})
	if err != nil {
		return err
	}
	slices.Sort(runs)
	for _, n := range runs {
		if err := s.erase(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// question collects the conditions of a query for a page. A ? in a condition stands for its
// argument.
type question struct {
	conditions []string
	args       []any
	limit      int
}

func (q *question) and(condition string, arg any) {
	q.args = append(q.args, arg)
	q.conditions = append(q.conditions, strings.Replace(condition, "?", "$"+strconv.Itoa(len(q.args)), 1))
}

func (q *question) text() string { return strings.Join(append(q.conditions, "1 = 1"), " AND ") }

// longestText is the maximum length of Filter.Text, in bytes.
const longestText = 1000

// newQuestion returns a question with the conditions common to runs and applications, and the
// page's size, 50 if f.Limit is 0. The error is a *run.InputError for a limit, a cursor or a
// text that is not valid.
func newQuestion(f run.Filter) (*question, error) {
	q := &question{limit: f.Limit}
	if q.limit == 0 {
		q.limit = 50
	}
	if q.limit < 1 || q.limit > 200 {
		return nil, &run.InputError{Field: "limit", Text: "must be from 1 to 200"}
	}
	if f.After != "" {
		n, err := strconv.ParseInt(f.After, 10, 64)
		if err != nil || n < 1 {
			return nil, &run.InputError{Field: "after", Text: "is not the cursor of a page"}
		}
		q.and(`number < ?`, n)
	}
	if f.Owner != "" {
		q.and(`owner = ?`, clean(f.Owner))
	}
	if len(f.Text) > longestText {
		return nil, &run.InputError{Field: "text", Text: fmt.Sprintf("must have at most %d bytes", longestText)}
	}
	if f.Text != "" {
		q.and(`name_lower LIKE ? ESCAPE '\'`, "%"+strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(lower(f.Text))+"%")
	}
	return q, nil
}
