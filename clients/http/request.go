package http

import (
	"errors"
	"fmt"
	"hash/maphash"
	"strconv"
	"time"
)

// Request is what Do sends.
type Request struct {
	Method  string            // empty: GET
	URL     string            // http://HOST[:PORT]/PATH?QUERY or https://...
	Headers map[string]string // added to Host and User-Agent, which they may replace; "Expect: 100-continue" is obeyed
	Body    []byte            // sent with its Content-Length; must not be changed before Do returns
	Discard bool              // read the answer and discard its head and body, whatever their size

	Name     string            // if set, the request is counted under PREFIX.url.NAME too; at most 50 names per prefix
	Source   Source            // the body, in place of Body
	Chunked  bool              // send the body in chunks though its length is known; over HTTP/2 without its length
	Trailers map[string]string // sent after the body, which then goes as with Chunked; values may be set while Source is read
}

// call is one operation: the request, what to do with its answer, and the answer.
type call struct {
	client  *client
	request Request
	target  *target
	path    string    // of the request line
	ready   *template // the rendered request, if there is one
	added   *added    // headers that the client's options add; nil: none
	named   *named    // where Request.Name is counted; nil: nowhere
	upload  *upload   // of a body that is written beside reading; nil: it is not
	follow  *follow   // of an operation whose answers may ask for more; nil: one answer is all

	keepHead bool          // give the answer's headers to the caller
	maxBody  int64         // of a body that is returned
	foreign  bool          // the call's ctx is not the client's
	closes   bool          // the request says Connection: close
	expects  bool          // the request says Expect: 100-continue
	quick    bool          // the connection has brought an answer just before, and quickly
	idle     bool          // it has brought one some time ago
	start    time.Duration // of the call, on the clock of conn.Now
	now      time.Duration // of the request at hand, on the same clock

	via      string        // lines of the head for a proxy; see proxied
	whole    time.Duration // the time limit that follows HeaderTimeout; 0: there is no such limit
	peer     *peer         // whom the call was sent to
	link     *link         // that the request at hand was sent over; nil: not yet
	got      int64         // bytes that came to the request at hand
	cut      int           // the status of an answer that broke off after its head
	look     *look         // what is seen of the request at hand, for people; nil: nobody looks
	status   int
	head     []byte
	trailers []byte
	body     []byte
	in, out  int64         // bytes read and written, over all attempts
	reused   int64         // answers that came over a connection used before
	first    time.Duration // when the answer's first bytes came, on the clock of conn.Now
	end      time.Duration // when the last byte came, on the same clock
}

// prepare checks a request and finds or makes what sending it needs. An error is
// the caller's: nothing was sent, and nothing is to be counted. After success the
// caller owes q.done.
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

// done ends what prepare began.
func (q *call) done() {
	if q.upload != nil {
		q.upload.close()
	}
}

// render gives q a template, or what is needed to render its request.
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
	// A request that comes twice in a row will come again: keep it rendered. All
	// clients of a prefix with the same options that send the same share one template.
	if t := c.settings.last.Load(); t != nil && t.is(r, q.added) {
		c.last.Store(t)
		return q.use(t)
	}
	if id := r.id(); c.seen.Swap(id) == id && r.Method != "TRACE" { // whose body check has to see
		t := newTemplate(q)
		c.last.Store(t)
		c.settings.last.Store(t)
	}
	return nil
}

// locate finds where q's request goes.
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

func (q *call) use(t *template) error {
	q.ready, q.target, q.path, q.closes, q.expects = t, t.target, t.path, t.closes, t.expects
	if t.length != "" {
		return q.request.checkLength(t.length)
	}
	return nil
}

// check refuses what would not be a request, or would be two.
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

// checkValue refuses a value that would not stay in its line; what is "header" or
// "trailer".
func checkValue(what, name, value string) error {
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return fmt.Errorf("%s %s: control character in %q", what, name, value)
		}
	}
	return nil
}

// checkLength refuses a Content-Length that is not the body's.
func (r *Request) checkLength(value string) error {
	if r.Source != nil || r.Chunked || r.Trailers != nil {
		return errors.New("header Content-Length: leave it out; a Source tells its length, and chunks have none")
	}
	var digits [20]byte
	if string(strconv.AppendInt(digits[:0], int64(len(r.Body)), 10)) != value {
		return fmt.Errorf("header Content-Length: %q, but the body has %d bytes", value, len(r.Body))
	}
	return nil
}

var seed = maphash.MakeSeed()

// id is a number that tells requests apart: their method, URL and headers.
func (r *Request) id() uint64 {
	id := maphash.String(seed, r.URL) ^ maphash.String(seed, r.Method)
	for name, value := range r.Headers { // in any order
		id += maphash.String(seed, name) ^ 3*maphash.String(seed, value)
	}
	return id
}

// appendHead renders the head of q's request but for what tells of the body, what is
// of this request alone (see follow), and the blank line.
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

// hasLength reports whether the request tells the length of its Body. Methods that
// usually bring one tell that it is empty (RFC 9110, section 8.6).
func (r *Request) hasLength() bool {
	return len(r.Body) > 0 || r.Method == "POST" || r.Method == "PUT" || r.Method == "PATCH"
}

// idempotent reports whether sending the request twice is the same as once (RFC
// 9110, section 9.2.2), so that it may be sent again.
func (r *Request) idempotent() bool {
	switch r.Method {
	case "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE":
		return true
	}
	return false
}
