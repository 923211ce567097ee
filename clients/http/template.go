package http

import (
	"slices"
	"strings"
)

// template is a rendered request, for requests that repeat. It is immutable except for the
// cached head of its answers.
type template struct {
	method, url string
	fields      []field // the caller's headers
	added       *added  // those of the client's options, or nil
	target      *target
	path        string
	length      string // the caller's Content-Length; "" if missing
	closes      bool   // the caller's Connection: close
	expects     bool   // the caller's Expect: 100-continue
	lines       []byte // the whole head except Content-Length, with the blank line

	answer known // the head of the last answer
}

// field is one header of a request.
type field struct{ name, value string }

// newTemplate renders q's request, which must be checked and located. It copies what it needs
// of the caller's strings, and shares q's target and added headers.
func newTemplate(q *call) *template {
	r := &q.request
	t := &template{
		method: strings.Clone(r.Method),
		url:    strings.Clone(r.URL),
		target: q.target,
		path:   strings.Clone(q.path),
		closes: q.closes, expects: q.expects,
		added: q.added,
		lines: append(q.appendHead(nil), "\r\n"...),
	}
	for name, value := range r.Headers {
		t.fields = append(t.fields, field{strings.Clone(name), strings.Clone(value)})
		if foldEqual(name, "content-length") {
			t.length = t.fields[len(t.fields)-1].value
		}
	}
	t.lines = slices.Clip(t.lines)
	return t
}

// is reports whether the template was rendered from this request, whatever its body, with
// these added headers.
func (t *template) is(r *Request, added *added) bool {
	if t.url != r.URL || t.method != r.Method || len(t.fields) != len(r.Headers) || t.added != added && !t.added.equal(added) {
		return false
	}
	for _, f := range t.fields {
		if v, ok := r.Headers[f.name]; !ok || v != f.value {
			return false
		}
	}
	return true
}
