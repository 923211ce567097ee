package http

import (
	"bytes"
	"strings"
	"time"
)

// Response is a complete answer.
type Response struct {
	Status   int    // as 200
	Header   Header // without trailers; empty when the request said Discard
	Body     []byte // nil when the request said Discard
	Trailers Header // what came after the body; empty when the request said Discard

	URL       string        // that the answer is from: the request's, or where redirects led
	Redirects int           // how many were followed
	Latency   time.Duration // from the call to the answer's last byte, as it was recorded
	FirstByte time.Duration // from the call to the answer's first byte; over HTTP/2 to its whole head
}

// response gives q's answer.
func (q *call) response() Response {
	_, lines, _ := bytes.Cut(q.head, []byte{'\n'}) // without the status line
	r := Response{
		Status: q.status, Header: Header{lines}, Body: q.body, Trailers: Header{q.trailers},
		URL: q.request.URL, Latency: q.end - q.start, FirstByte: q.first - q.start,
	}
	if q.follow != nil {
		r.Redirects = int(q.follow.redirects)
	}
	return r
}

// Header is the headers of an answer, as they came; over HTTP/2 sorted, with names as
// HTTP/1.1 writes them. Looking one up reads through
// them, so that answers whose headers nobody asks for cost nothing more.
type Header struct {
	lines []byte // checked, with or without a blank line at the end
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
		eachField(h.lines, func(name, value []byte) bool { return yield(string(name), string(value)) })
	}
}
