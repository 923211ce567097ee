package data

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// csvFormat reads comma-separated values (RFC 4180). A quoted value may contain commas, line
// ends and doubled quotes. format describes its methods.
type csvFormat struct {
	comma byte
	names []string
}

const quote = '"'

func (f *csvFormat) columns() []string { return f.names }

// split ends a record at a line end outside of quotes. Without that it needs more bytes, or at
// the end of the file returns the rest, which check refuses if a quote is not closed.
func (f *csvFormat) split(b []byte, atEOF bool) (int, []byte) {
	quotes, end := 0, 0
	for {
		n := bytes.IndexByte(b[end:], '\n')
		if n < 0 {
			break
		}
		quotes += bytes.Count(b[end:end+n], []byte{quote})
		end += n + 1
		if quotes%2 == 0 {
			return end, trimEnd(b[:end])
		}
	}
	if atEOF && len(b) > 0 {
		return len(b), trimEnd(b)
	}
	return 0, nil
}

// header reads the first row and stores the columns' names. It skips a byte order mark before
// it. It returns an error if there is no row, if its quotes are malformed, if a name is empty
// or has space around it, and if two are equal.
func (f *csvFormat) header(r *reader) error {
	record, err := r.next()
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty: its first row has to name the columns")
	}
	if err != nil {
		return err
	}
	rest := bytes.TrimPrefix(record, []byte("\uFEFF"))
	for rest != nil {
		var value []byte
		var quoted bool
		if value, rest, quoted, err = f.cut(rest); err != nil {
			return fmt.Errorf("column %d: %w", len(f.names)+1, err)
		}
		if quoted {
			value = appendUnquoted(nil, value)
		}
		f.names = append(f.names, string(value))
	}
	for i, name := range f.names {
		if strings.TrimSpace(name) != name || name == "" {
			return fmt.Errorf("the name of column %d is %q: want one without space around it", i+1, name)
		}
		if slices.Index(f.names, name) != i {
			return fmt.Errorf("two columns are called %q", name)
		}
	}
	return nil
}

// check returns an error if a row's quotes are malformed, or if it has not as many columns as
// the first row.
func (f *csvFormat) check(record []byte) error {
	n := 0
	if bytes.IndexByte(record, quote) < 0 {
		n = bytes.Count(record, []byte{f.comma}) + 1
	} else {
		for rest := record; rest != nil; n++ {
			var err error
			if _, rest, _, err = f.cut(rest); err != nil {
				return fmt.Errorf("column %d: %w", n+1, err)
			}
		}
	}
	if n != len(f.names) {
		return fmt.Errorf("%d columns, but the first row names %d", n, len(f.names))
	}
	return nil
}

// appendValue appends a value without its quotes; format has the rest.
func (f *csvFormat) appendValue(b, record []byte, column string) ([]byte, bool) {
	left := slices.Index(f.names, column)
	if left < 0 {
		return b, false
	}
	for { // a record that has passed check
		value, rest, quoted, _ := f.cut(record)
		if left == 0 {
			if quoted {
				return appendUnquoted(b, value), true
			}
			return append(b, value...), true
		}
		left--
		record = rest
	}
}

// cut returns a record's first value, without its outer quotes if it is quoted, and the rest
// after its comma; rest is nil after the last value. Both are parts of record. The inner
// quotes of a quoted value are still doubled. The error is one of malformed quotes.
func (f *csvFormat) cut(record []byte) (value, rest []byte, quoted bool, err error) {
	if len(record) == 0 || record[0] != quote {
		end := bytes.IndexByte(record, f.comma)
		if end < 0 {
			end = len(record)
		} else {
			rest = record[end+1:]
		}
		if bytes.IndexByte(record[:end], quote) >= 0 {
			err = errors.New(`a quote inside a value: quote the whole value, and write "" for a quote in it`)
		}
		return record[:end], rest, false, err
	}
	for end := 1; ; end += 2 {
		n := bytes.IndexByte(record[end:], quote)
		if n < 0 {
			return nil, nil, true, errors.New("a quote that is not closed")
		}
		end += n
		switch {
		case end+1 == len(record):
			return record[1:end], nil, true, nil
		case record[end+1] == f.comma:
			return record[1:end], record[end+2:], true, nil
		case record[end+1] != quote:
			return nil, nil, true, errors.New(`a quote inside a value: write it as ""`)
		}
	}
}

// appendUnquoted appends a quoted value as cut returns it, with its doubled quotes made
// single.
func appendUnquoted(b, value []byte) []byte {
	for {
		i := bytes.IndexByte(value, quote)
		if i < 0 {
			return append(b, value...)
		}
		b = append(b, value[:i+1]...)
		value = value[i+2:]
	}
}
