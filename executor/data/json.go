package data

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonFormat reads one JSON object a line. format describes its methods.
type jsonFormat struct{}

func (jsonFormat) columns() []string    { return nil }
func (jsonFormat) header(*reader) error { return nil }

// split ends a record at each line end, and removes white space around it; format has the
// rest.
func (jsonFormat) split(b []byte, atEOF bool) (int, []byte) {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return i + 1, bytes.TrimSpace(b[:i])
	}
	if atEOF && len(b) > 0 {
		return len(b), bytes.TrimSpace(b)
	}
	return 0, nil
}

// check returns an error if a record, which must not be empty, is not one JSON object.
func (jsonFormat) check(record []byte) error {
	if record[0] != '{' {
		return errors.New("want a JSON object on each line")
	}
	if !json.Valid(record) {
		err := json.Unmarshal(record, new(map[string]json.RawMessage))
		return fmt.Errorf("not JSON: %w", err)
	}
	return nil
}

// appendValue appends the value of a key of the object itself; of a repeated key, the first
// value. It appends a string's text, and any other value as JSON. The record must be valid.
func (jsonFormat) appendValue(b, record []byte, column string) ([]byte, bool) {
	rest := skipSpace(record[1:])
	for len(rest) > 0 && rest[0] == quote {
		key := rest[:stringEnd(rest)]
		rest = skipSpace(rest[len(key):])
		rest = skipSpace(rest[1:]) // the colon
		value := rest[:valueEnd(rest)]
		if isKey(key, column) {
			return appendText(b, value), true
		}
		rest = skipSpace(rest[len(value):])
		rest = skipSpace(rest[1:]) // the comma, or the object's end
	}
	return b, false
}

// appendText appends to b the text of a JSON string, decoded, or another JSON value unchanged.
// The value must be valid; half of a surrogate pair becomes U+FFFD.
func appendText(b, value []byte) []byte {
	if value[0] != quote {
		return append(b, value...)
	}
	for value = value[1 : len(value)-1]; ; {
		i := bytes.IndexByte(value, '\\')
		if i < 0 {
			return append(b, value...)
		}
		b = append(b, value[:i]...)
		c := value[i+1]
		value = value[i+2:]
		switch c {
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'u':
			r := hexRune(value)
			value = value[4:]
			if utf16.IsSurrogate(r) {
				low := rune(0)
				if bytes.HasPrefix(value, []byte(`\u`)) {
					low = hexRune(value[2:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					value = value[6:]
				}
			}
			b = utf8.AppendRune(b, r)
		default: // a quote, a slash, a backslash
			b = append(b, c)
		}
	}
}

// hexRune parses the four hexadecimal digits at the start of b, which must be valid.
func hexRune(b []byte) (r rune) {
	for _, c := range b[:4] {
		switch {
		case c >= 'a':
			c -= 'a' - 10
		case c >= 'A':
			c -= 'A' - 10
		default:
			c -= '0'
		}
		r = r<<4 | rune(c)
	}
	return r
}

// isKey reports whether key, a valid JSON string with its quotes, is name once its escapes are
// decoded.
func isKey(key []byte, name string) bool {
	if bytes.IndexByte(key, '\\') < 0 {
		return string(key[1:len(key)-1]) == name
	}
	return string(appendText(nil, key)) == name
}

// stringEnd returns the length of the string at the start of b, with both quotes. It panics if
// the string does not end within b.
func stringEnd(b []byte) int {
	for i := 1; ; i++ {
		switch b[i] {
		case '\\':
			i++
		case quote:
			return i + 1
		}
	}
}

// valueEnd returns the length of the value at the start of b, which must be inside an object
// or array: what follows ends a number or a word. It panics if the value does not end within
// b.
func valueEnd(b []byte) int {
	depth := 0
	for i := 0; ; i++ {
		switch b[i] {
		case quote:
			i += stringEnd(b[i:]) - 1
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // the end of the object or array around a number or a word
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
}

func skipSpace(b []byte) []byte { return bytes.TrimLeft(b, " \t\r\n") }
