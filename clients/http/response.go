package http

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Response is a complete answer.
type Response struct {
	Status   int    // such as 200
	Header   Header // without trailers; empty with Request.Discard
	Body     []byte // owned by the caller; nil with Request.Discard
	Trailers Header // sent after the body; empty with Request.Discard

	URL       string        // of the last request: the call's URL, or the target of the last redirect
	Redirects int           // number of redirects that were followed
	Latency   time.Duration // from the call to the answer's last byte, as recorded
	FirstByte time.Duration // from the call to the answer's first byte; over HTTP/2 to its whole head
}

// response returns q's answer. Its Header, Body and Trailers share q's memory.
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

// JSON decodes the body, one JSON value, into what v points to, as json.Unmarshal does. The error
// names the status and begins to quote the body if that is no JSON, as an error page is.
func (r Response) JSON(v any) error {
	if err := json.Unmarshal(r.Body, v); err != nil {
		return fmt.Errorf("status %d, body %.60q: %w", r.Status, r.Body, err)
	}
	return nil
}

// Header holds the headers of an answer as received; over HTTP/2 they are sorted, with names
// as HTTP/1.1 writes them. It is not indexed: Get and All parse it each time, so an answer
// whose headers are not read costs nothing more. It is immutable.
type Header struct {
	lines []byte // checked, with or without a blank line at the end
}

// Get returns the value of the first header with that name, ignoring case; "" if it is
// missing.
func (h Header) Get(name string) string {
	for n, value := range h.All() {
		if strings.EqualFold(n, name) {
			return value
		}
	}
	return ""
}

// All yields the headers in the order and with the names received; values are without space
// around them. The sequence may be used more than once.
func (h Header) All() func(yield func(name, value string) bool) {
	return func(yield func(name, value string) bool) {
		eachField(h.lines, func(name, value []byte) bool { return yield(string(name), string(value)) })
	}
}
