package builtin

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gobench-io/gobench/executor/data"
)

// Data is a file with rows for the templates of requests.
type Data struct {
	File  string // .csv, .tsv, .jsonl or .ndjson
	Order data.Order
	Wrap  bool // start again after the last row
}

// Endings are the file name extensions that determine a file's format.
const Endings = ".csv, .tsv, .jsonl, .ndjson"

// feeder declares the file, another time at each call, and returns its Feeder. An unknown
// extension is read as CSV. d must not be nil.
func (d *Data) feeder() *data.Feeder {
	o := data.Options{Order: d.Order, Wrap: d.Wrap}
	if e := strings.ToLower(filepath.Ext(d.File)); e == ".jsonl" || e == ".ndjson" {
		return data.JSONLines(d.File, o)
	}
	return data.CSV(d.File, o)
}

// check returns an error if the file lacks one of the wanted columns, which is named, can't be
// read, or has an unknown extension. It reads only the first row of CSV; rows of JSON may lack
// columns. A nil Data has no columns.
func (d *Data) check(want []string) error {
	if d == nil {
		if len(want) > 0 {
			return fmt.Errorf("{{data.%s}} needs a file of data", want[0])
		}
		return nil
	}
	if !slices.Contains(strings.Split(Endings, ", "), strings.ToLower(filepath.Ext(d.File))) {
		return fmt.Errorf("data file %s: its extension is unknown: want one of %s", d.File, Endings)
	}
	columns, err := d.feeder().Columns()
	if err != nil {
		return err
	}
	for _, column := range want {
		if columns != nil && !slices.Contains(columns, column) {
			return fmt.Errorf("{{data.%s}}: data file %s has no such column: there are %q", column, d.File, columns)
		}
	}
	return nil
}

// enough returns an error if a file whose rows are each used by one user has fewer rows than
// there are users, or if such a file can't be read, and ctx's if ctx ends meanwhile. f is d's
// feeder, which it opens. A nil Data is always enough.
func (d *Data) enough(ctx context.Context, f *data.Feeder, users int) error {
	if d == nil || d.Order != data.Unique || d.Wrap {
		return nil
	}
	n, err := f.Rows(ctx)
	if err == nil && n < int64(users) {
		err = fmt.Errorf("data file %s has %d rows for %d connections, each with its own: add rows, use fewer connections, or let rows be used again", d.File, n, users)
	}
	return err
}
