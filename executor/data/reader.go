package data

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

// maxRecord is the maximum length of a row.
const maxRecord = 1 << 20

var errLong = fmt.Errorf("a row longer than %d bytes: is a quote not closed?", maxRecord)

// format is the format of a file's rows. It does not store them: a record is a part of the
// caller's buffer. header is called once, with a reader at the file's start, before check,
// columns and appendValue.
type format interface {
	// split returns the first record of b and its length with its line end. The length is 0 if
	// b has no whole record. atEOF means that nothing follows b.
	split(b []byte, atEOF bool) (whole int, record []byte)
	header(r *reader) error    // reads the columns' names, if the file has them
	check(record []byte) error // returns an error for an invalid row
	// columns returns the columns' names, as its own slice; nil if each row has its own.
	columns() []string
	// appendValue appends a row's value, decoded, to b. It returns b and false if the row has
	// no such column. The record must have passed check.
	appendValue(b, record []byte, column string) ([]byte, bool)
}

// reader reads the records of a file in order. It skips blank lines. It does not close the
// file. It is for one goroutine.
type reader struct {
	file   io.ReaderAt
	format format

	buf      []byte
	from, to int   // the bytes read ahead are buf[from:to]
	offset   int64 // in the file, of buf[from]
	eof      bool  // nothing follows buf

	at    int64 // position of the last record
	line  int64 // its line, from 1, if the reader started at the beginning of the file
	lines int64 // read so far
}

const (
	ahead     = 256 << 10 // bytes that a reader of the whole file reads at once
	lookAhead = 4 << 10   // bytes that a reader of a single row reads at once
)

// readers are used for reading single rows.
var readers = sync.Pool{New: func() any { return &reader{buf: make([]byte, lookAhead)} }}

// newReader returns a reader for reading much of a file, from offset, where a record begins.
func newReader(file io.ReaderAt, f format, offset int64) *reader {
	r := &reader{file: file, format: f, buf: make([]byte, ahead)}
	r.seek(offset)
	return r
}

// seek moves to another position in the file, where a record begins.
func (r *reader) seek(offset int64) { r.from, r.to, r.offset, r.eof = 0, 0, offset, false }

// next returns the next record, without its line end, which is valid until the following call
// of next or seek. At the end the error is io.EOF, for a record of more than 1 MiB errLong,
// and else that of reading. After errLong and an error of a row's format r.line is the line of
// that record.
func (r *reader) next() ([]byte, error) {
	for {
		b := r.buf[r.from:r.to]
		whole, record := r.format.split(b, r.eof)
		if whole == 0 {
			if r.eof {
				return nil, io.EOF
			}
			if err := r.more(); err != nil {
				return nil, err
			}
			continue
		}
		r.at, r.line = r.offset, r.lines+1
		r.lines += int64(bytes.Count(b[:whole], []byte{'\n'}))
		r.from += whole
		r.offset += int64(whole)
		if len(record) > maxRecord {
			return nil, errLong
		}
		if len(record) > 0 {
			return record, nil
		}
	}
}

// more reads more of the file into the buffer, which grows if it is full; bytes returned
// before move. At the end of the file it sets eof and returns nil. If a record does not fit
// into the largest buffer, of 2 MiB, it returns errLong; next refuses those above 1 MiB.
func (r *reader) more() error {
	if r.from > 0 {
		r.to = copy(r.buf, r.buf[r.from:r.to])
		r.from = 0
	}
	if r.to == len(r.buf) {
		if len(r.buf) > maxRecord {
			r.line = r.lines + 1
			return errLong
		}
		r.buf = append(r.buf, make([]byte, len(r.buf))...)
	}
	n, err := r.file.ReadAt(r.buf[r.to:], r.offset+int64(r.to))
	r.to += n
	if errors.Is(err, io.EOF) {
		r.eof, err = true, nil
	}
	return err
}

// trimEnd returns b without its line end, LF or CR LF.
func trimEnd(b []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(b, []byte{'\n'}), []byte{'\r'})
}
