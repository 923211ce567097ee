package http

import (
	"errors"
	"fmt"
	"hash/maphash"
	"strconv"
	"time"

	"github.com/gobench-io/gobench/internal/measure/meter"
)

// Request is what Do sends.
type Request struct {
	Method  string            // "" means GET
	URL     string            // http://HOST[:PORT]/PATH?QUERY or https://...
	Headers map[string]string // added to Host and User-Agent, which they may replace; "Expect: 100-continue" is obeyed
	Body    []byte            // sent with its Content-Length; must not be changed before Do returns
	Discard bool              // read the answer and discard its head and body, whatever their size

	Name     string            // if set, the request is also counted under PREFIX.url.NAME; at most 50 names per prefix
	Source   Source            // the body, instead of Body
	Chunked  bool              // send the body in chunks even if its length is known; over HTTP/2 without its length
	Trailers map[string]string // sent after the body and imply Chunked; values may be set while Source is read
}

// call is one operation: the request, what to do with its answer, and the answer.
type call struct {
	client  *client
	request Request
	target  *target
	path    string    // of the request line
	ready   *template // the rendered request, or nil
	added   *added    // headers that the client's options add, or nil
	named   *named    // the metrics of Request.Name, or nil
	upload  *upload   // of a body that is written while the answer is read, or nil
	follow  *follow   // of an operation that may need several requests, or nil

	keepHead bool          // return the answer's headers to the caller
	maxBody  int64         // of a body that is returned
	foreign  bool          // the call's ctx is not the client's
	closes   bool          // the request says Connection: close
	expects  bool          // the request says Expect: 100-continue
	quick    bool          // use the fast way, since the connection's last answer was recent and quick
	idle     bool          // the connection has been idle since its last answer
	phase    meter.Phase   // of the call
	start    time.Duration // of the call, on the clock of conn.Now
	now      time.Duration // of the current request, on the same clock

	via      string        // header lines for a proxy; see proxied
	whole    time.Duration // the time limit that follows HeaderTimeout; 0: there is no such limit
	peer     *peer         // the address that the call was sent to
	link     *link         // that the current request was sent over; nil: not yet
	got      int64         // bytes received for the current request
	cut      int           // the status of an answer that was cut off after its head
	look     *look         // a copy of the current request for display, or nil
	status   int
	head     []byte
	trailers []byte
	body     []byte
	in, out  int64         // bytes read and written, over all attempts
	reused   int64         // answers received over a connection that had been used before
	first    time.Duration // when the answer's first bytes arrived, on the clock of conn.Now
	end      time.Duration // when its last byte arrived, on the same clock
	linked   time.Duration // when the current request's connection was ready, on the same clock; 0: it was at once
	stood    time.Duration // what delay.Stood was when the current request began
	stopped  time.Duration // for how long the process was stopped until linked
	own      time.Duration // gobench's own part of the call's time
}

// prepare checks a request and finds or creates what sending it needs; a Source is opened. An
// error is the caller's fault: nothing was sent, and nothing is counted. After a success the
// caller must call q.done.
func (c *client) prepare(q *call) error {
	q.added = c.settings.added
	if err := c.render(q); err != nil {
		return err
	}
	r := &q.request
	if r.Name != "" {
		var err error
		if q.named, err = c.family.name(c.recorder, r.Name); err != nil {
			return fmt.Errorf("%s %s: name %q: %w", r.Method, r.URL, r.Name, err)
		}
	}
	if c.settings.follows || q.expects {
		q.follow = newFollow(c, q)
	}
	if len(r.Body) > inTurn || q.expects || r.Source != nil || r.Chunked || r.Trailers != nil {
		var err error
		if q.upload, err = newUpload(q, c.settings.ContinueTimeout); err != nil {
			return fmt.Errorf("%s %s: %w", r.Method, r.URL, err)
		}
	}
	return nil
}

// done releases what prepare acquired: it closes a Source that is open and not being written.
func (q *call) done() {
	if q.upload != nil {
		q.upload.close()
	}
}

// render sets q's template, if the request is the last one that c, or a client with the same
// settings, has sent twice in a row, and otherwise what is needed to render it. It checks a
// request that has no template. q.added must be set. The error is the caller's fault.
func (c *client) render(q *call) error {
	r := &q.request
	if t := c.last.Load(); t != nil && t.is(r, q.added) {
		return q.use(t)
	}
	if err := c.locate(q); err != nil {
		return err
	}
	err := q.check()
	if err == nil && c.settings.HTTP2 {
		err = r.check2()
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", r.Method, r.URL, err)
	}
	// A request that is sent twice in a row is likely to be sent again, so cache its rendered
	// form. All clients of a prefix with the same options that send the same request share one
	// template.
	if t := c.settings.last.Load(); t != nil && t.is(r, q.added) {
		c.last.Store(t)
		return q.use(t)
	}
	if id := r.id(); c.seen.Swap(id) == id && r.Method != "TRACE" { // check must see the body of a TRACE
		t := newTemplate(q)
		c.last.Store(t)
		c.settings.last.Store(t)
	}
	return nil
}

// locate sets the target and path of q's request, and what a proxy needs. The error names the
// URL that is wrong, or is one of the proxy in the environment.
func (c *client) locate(q *call) error {
	origin, path, err := split(q.request.URL)
	if err != nil {
		return err
	}
	if q.target, err = c.family.target(origin); err != nil {
		return fmt.Errorf("url %q: %w", q.request.URL, err)
	}
	q.path, q.via = path, ""
	return c.settings.proxied(q)
}

// use makes q use the template t. It returns an error if the caller's Content-Length is not
// that of the body, which may differ from one call to the next.
func (q *call) use(t *template) error {
	q.ready, q.target, q.path, q.closes, q.expects = t, t.target, t.path, t.closes, t.expects
	if t.length != "" {
		return q.request.checkLength(t.length)
	}
	return nil
}

// check returns an error if the request would be invalid, or would be read as two. It sets
// q.closes and q.expects.
func (q *call) check() error {
	r := &q.request
	if !isName(r.Method) || r.Method == "CONNECT" {
		return fmt.Errorf("method %q can't be sent", r.Method)
	}
	if r.Method == "TRACE" && (len(r.Body) > 0 || r.Source != nil) {
		return errors.New("a TRACE request has no body (RFC 9110, section 9.3.8)")
	}
	for name, value := range r.Headers {
		if !isName(name) {
			return fmt.Errorf("header %q: not a header's name", name)
		}
		if err := checkValue("header", name, value); err != nil {
			return err
		}
		switch {
		case foldEqual(name, "transfer-encoding"):
			return errors.New("header Transfer-Encoding: leave it out, and set Request.Chunked")
		case foldEqual(name, "content-length"):
			if err := r.checkLength(value); err != nil {
				return err
			}
		case foldEqual(name, "connection"):
			var h head
			h.connection([]byte(value))
			q.closes = q.closes || h.close
		case foldEqual(name, "expect"):
			q.expects = foldEqual(value, "100-continue")
		}
	}
	return nil
}

// checkValue returns an error if a value contains control characters other than a tab; what is
// "header" or "trailer".
func checkValue(what, name, value string) error {
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return fmt.Errorf("%s %s: control character in %q", what, name, value)
		}
	}
	return nil
}

// checkLength returns an error if a Content-Length is not that of Body, or if the length does
// not belong in a header: of a Source and of chunks.
func (r *Request) checkLength(value string) error {
	if r.Source != nil || r.Chunked || r.Trailers != nil {
		return errors.New("header Content-Length: leave it out; the length of a Source is that of Open, and chunks need no length")
	}
	var digits [20]byte
	if string(strconv.AppendInt(digits[:0], int64(len(r.Body)), 10)) != value {
		return fmt.Errorf("header Content-Length: %q, but the body has %d bytes", value, len(r.Body))
	}
	return nil
}

var seed = maphash.MakeSeed()

// id returns a hash of the request's method, URL and headers, equal for equal ones in this
// process. It does not depend on the body.
func (r *Request) id() uint64 {
	id := maphash.String(seed, r.URL) ^ maphash.String(seed, r.Method)
	for name, value := range r.Headers { // independent of their order
		id += maphash.String(seed, name) ^ 3*maphash.String(seed, value)
	}
	return id
}

// appendHead renders the head of q's request without the headers of the body, those of this
// request only (see follow), and the blank line. An empty User-Agent is left out. q must be
// checked and located.
func (q *call) appendHead(b []byte) []byte {
	host, agent := q.target.host, userAgent
	for name, value := range q.request.Headers {
		if foldEqual(name, "host") {
			host = value
		} else if foldEqual(name, "user-agent") {
			agent = value
		}
	}
	b = append(b, q.request.Method...)
	b = append(b, ' ')
	b = append(b, q.path...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, host...)
	if agent != "" {
		b = append(b, "\r\nUser-Agent: "...)
		b = append(b, agent...)
	}
	b = append(b, "\r\n"...)
	b = append(b, q.via...)
	for name, value := range q.request.Headers {
		if foldEqual(name, "host") || foldEqual(name, "user-agent") || foldEqual(name, "content-length") {
			continue
		}
		b = append(b, name...)
		b = append(b, ": "...)
		b = append(b, value...)
		b = append(b, "\r\n"...)
	}
	if q.added != nil {
		b = q.added.append(b, &q.request)
	}
	return b
}

// has reports whether the caller has set a header, whose name is in lower case.
func (r *Request) has(name string) bool {
	for n := range r.Headers {
		if foldEqual(n, name) {
			return true
		}
	}
	return false
}

// hasLength reports whether the request has a Content-Length for its Body. Methods that usually
// have a body send it for an empty one too (RFC 9110, section 8.6).
func (r *Request) hasLength() bool {
	return len(r.Body) > 0 || r.Method == "POST" || r.Method == "PUT" || r.Method == "PATCH"
}

// idempotent reports whether sending the request twice has the same effect as once (RFC 9110,
// section 9.2.2), so that it may be repeated.
func (r *Request) idempotent() bool {
	switch r.Method {
	case "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE":
		return true
	}
	return false
}
