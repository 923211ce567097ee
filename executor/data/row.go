package data

import "fmt"

// Row is a row of a file, returned by [Feeder.Next] or [Feeder.Read]; the zero value is for
// Read. It is not safe for concurrent use, and copies share its memory.
type Row struct {
	feeder *Feeder
	number int64
	text   []byte
}

// Number returns the row's number in its file, from 0.
func (r *Row) Number() int64 { return r.number }

// Get returns the value of a column. If a CSV file has no such column, or the row was not
// read, it panics, which ends the user. In a JSON file, where rows may have different columns,
// a missing value is "", and a value that is not a string is returned as JSON.
func (r *Row) Get(column string) string {
	var short [64]byte
	return string(r.Append(short[:0], column))
}

// Append appends the value of a column to b and returns the result; the value and the panics
// are those of Get.
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
