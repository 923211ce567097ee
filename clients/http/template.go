package http

import (
	"slices"
	"strings"
)

// template is a request that was rendered once, for requests that repeat. It never
// changes but for what is known of its answers.
type template struct {
	method, url string
	fields      []field // the caller's headers
	added       *added  // those of the client's options; nil: none
	target      *target
	path        string
	length      string // the caller's Content-Length; "": none
	closes      bool   // the caller's Connection: close
	expects     bool   // the caller's Expect: 100-continue
	lines       []byte // the whole head but for Content-Length, with the blank line

	answer known // the head that came last in answer
}

// field is one header of a request.
type field struct{ name, value string }

// newTemplate renders q's request.
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

// is reports whether the template is of this request with these headers added.
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
