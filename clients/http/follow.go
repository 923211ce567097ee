package http

import (
	"bytes"
	"context"
	"net/url"

	"github.com/gobench-io/gobench/internal/load/conn"
)

// follow is the state of an operation that may need several requests: for redirects, cookies,
// credentials or a request without Expect. It also serves decoding. The requests are sent in
// sequence, and the last answer is the operation's. It is for the call's goroutine.
type follow struct {
	c      *client
	origin string // of the first request; only this one receives the client's credentials

	// Of the current request.
	raw      string   // its URL
	url      *url.URL // raw parsed, set when base first needs it
	lines    []byte   // header lines of this request only: Cookie and Authorization
	expects  bool
	mayLogIn bool   // a Digest challenge may be answered
	offered  *nonce // the nonce of the sent credentials; nil: not sent

	// The next step after its answer, set by look.
	next     next
	location *url.URL
	coding   string // its Content-Encoding; "" if missing

	redirects  int64 // number of redirects followed
	challenges int64 // number of challenges answered
}

// next is the step that follows an answer.
type next uint8

const (
	nothing       next = iota // the answer is the operation's
	elsewhere                 // send a request to the redirect's target
	authenticated             // send the request again, with credentials
	unasked                   // send the request again, without Expect (RFC 9110, section 15.5.18)
)

// newFollow returns the follow of q, whose request, target and expects are set.
func newFollow(c *client, q *call) *follow {
	return &follow{c: c, raw: q.request.URL, origin: q.target.origin, expects: q.expects}
}

// base returns the URL of the current request, for resolving relative URLs; if package url
// can't parse it, the root of the first request's server. It is never nil, and must not be
// changed.
func (f *follow) base() *url.URL {
	if f.url == nil {
		var err error
		if f.url, err = url.Parse(f.raw); err != nil { // it can be sent, but package url rejects it
			f.url, _ = url.Parse(f.origin + "/")
		}
	}
	return f.url
}

// exchanges sends the request of q, whose follow is set, and the further requests that the
// answers require, at most MaxRedirects redirects and maxChallenges challenges, and leaves the
// last answer in q. It returns the first error, and ctx's if ctx ends between two requests.
func (c *client) exchanges(ctx context.Context, q *call) error {
	f := q.follow
	for {
		f.dress(q)
		err := c.exchange(ctx, q)
		if err != nil {
			return err
		}
		switch f.next {
		case nothing:
			return nil
		case elsewhere:
			f.redirects++
			err = f.redirect(q)
		case authenticated:
			f.challenges++
		case unasked:
			f.expects, q.expects, q.upload.wait = false, false, 0
			q.rewrite(func(name string) bool { return foldEqual(name, "expect") })
			err = c.locate(q) // otherwise the template has located it
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		q.now, q.peer, q.link, q.got, q.status = conn.Now(), nil, nil, 0, 0
	}
}

// dress sets the current request's own header lines: cookies, and the credentials of Digest,
// which only the first request's server receives. A header set by the caller replaces them.
func (f *follow) dress(q *call) {
	f.lines, f.offered = f.lines[:0], nil
	if f.c.settings.Cookies {
		f.lines = f.c.appendCookies(f.lines, f.base(), &q.request)
	}
	f.mayLogIn = f.c.settings.Auth.scheme == digest && q.target.origin == f.origin && !q.request.has("authorization")
	if f.mayLogIn {
		f.lines, f.offered = f.c.appendDigest(f.lines, q)
	}
}

// look examines an answer's head, from its status line, before its body is read: it stores the
// cookies and sets next, location and, for Options.Decode, coding. It reports whether another
// request follows, so that the body is not needed.
func (f *follow) look(status int, head []byte) bool {
	f.next, f.coding = nothing, ""
	s := f.c.settings
	_, lines, _ := bytes.Cut(head, []byte{'\n'})
	if s.Cookies {
		f.c.keepCookies(f.base(), lines)
	}
	switch {
	case f.mayLogIn && f.challenged(status, lines):
		f.next = authenticated
	case status == 417 && f.expects:
		f.next = unasked
	case f.redirects < int64(s.MaxRedirects) && isRedirect(status):
		if f.location = f.points(lines); f.location != nil {
			f.next = elsewhere
		}
	}
	if s.Decode {
		f.coding = fieldValues(lines, "content-encoding")
	}
	return f.next != nothing
}

// rewrite removes the headers for which drop returns true from a request, which then no longer
// uses a template. drop receives the names as the caller wrote them, whose map is not changed.
func (q *call) rewrite(drop func(name string) bool) {
	headers := make(map[string]string, len(q.request.Headers))
	for name, value := range q.request.Headers {
		if !drop(name) {
			headers[name] = value
		}
	}
	q.request.Headers, q.ready = headers, nil
}

// eachField calls yield for each header in lines, with its value trimmed, until it returns
// false. It stops at the first line without a colon, such as the blank one. name and value are
// parts of lines.
func eachField(lines []byte, yield func(name, value []byte) bool) {
	for len(lines) > 0 {
		var line []byte
		line, lines, _ = bytes.Cut(lines, []byte{'\n'})
		name, value, found := bytes.Cut(bytes.TrimSuffix(line, []byte{'\r'}), []byte{':'})
		if !found || !yield(name, trim(value)) {
			return
		}
	}
}

// fieldValues returns the values of a header, whose name is in lower case, as one list (RFC
// 9110, section 5.3), separated by ", "; "" if it is missing.
func fieldValues(lines []byte, header string) string {
	var list string
	eachField(lines, func(name, value []byte) bool {
		if foldEqual(name, header) {
			if list != "" {
				list += ", "
			}
			list += string(value)
		}
		return true
	})
	return list
}
