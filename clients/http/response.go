package http

import (
	"bytes"
	"strings"
)

// Response is a complete answer.
type Response struct {
	Status int    // as 200
	Header Header // without trailers; empty when the request said Discard
	Body   []byte // nil when the request said Discard
}

// Header is the headers of an answer, as they came. Looking one up reads through
// them, so that answers whose headers nobody asks for cost nothing more.
type Header struct {
	lines []byte // status line, headers, blank line; checked
}

// Get gives the value of the first header of that name, in any case of letters; ""
// when there is none.
func (h Header) Get(name string) string {
	for n, value := range h.All() {
		if strings.EqualFold(n, name) {
			return value
		}
	}
	return ""
}

// All gives the headers in the order in which they came, with names as they were
// written.
func (h Header) All() func(yield func(name, value string) bool) {
	return func(yield func(name, value string) bool) {
		_, rest, _ := bytes.Cut(h.lines, []byte{'\n'})
		for {
			var line []byte
			line, rest, _ = bytes.Cut(rest, []byte{'\n'})
			line = bytes.TrimSuffix(line, []byte{'\r'})
			name, value, found := bytes.Cut(line, []byte{':'})
			if !found || !yield(string(name), string(trim(value))) {
				return
			}
		}
	}
}
