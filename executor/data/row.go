package data

import "fmt"

// Row is a row of a file. It is its reader's own; copies share its memory.
type Row struct {
	feeder *Feeder
	number int64
	text   []byte
}

// Number is the row's number in its file, from 0 on.
func (r *Row) Number() int64 { return r.number }

// Get gives the value of a column. It panics, which ends the user that asked, when a
// CSV file has no such column; of JSON, where rows differ, it is then empty.
func (r *Row) Get(column string) string {
	var short [64]byte
	return string(r.Append(short[:0], column))
}

// Append appends the value of a column to b, as Get gives it.
func (r *Row) Append(b []byte, column string) []byte {
	if r.feeder == nil {
		panic("data: a Row that was not read")
	}
	b, found := r.feeder.format.appendValue(b, r.text, column)
	if !found && r.feeder.format.columns() != nil {
		panic(fmt.Sprintf("data file %s has no column %q: there are %q", r.feeder.name, column, r.feeder.format.columns()))
	}
	return b
}
