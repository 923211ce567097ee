package http

import (
	"bytes"
	"context"
	"net/url"

	"github.com/gobench-io/gobench/internal/load/conn"
)

// follow is what an operation keeps whose answers may ask for more than being
// counted: a redirect, cookies, credentials, a request without Expect, decoding.
// One operation is then several requests, one after the other, and the last answer
// is the operation's.
type follow struct {
	c      *client
	origin string // of the first request: the only one that gets the client's credentials

	// Of the request at hand.
	raw      string   // its URL
	url      *url.URL // the same, once base has needed it
	lines    []byte   // header lines of this request alone: Cookie and Authorization
	expects  bool
	mayLogIn bool   // a Digest challenge may be answered
	offered  *nonce // the credentials that went along belong to this; nil: none did

	// What its answer asks for, as look has found it.
	next     next
	location *url.URL
	coding   string // its Content-Encoding; "": none

	redirects  int64 // how many were followed
	challenges int64 // how many were answered
}

// next is what comes after an answer.
type next uint8

const (
	nothing       next = iota // the answer is the operation's
	elsewhere                 // a request to where it points
	authenticated             // the request once more, with credentials
	unasked                   // the request once more, without Expect (RFC 9110, section 15.5.18)
)

func newFollow(c *client, q *call) *follow {
	return &follow{c: c, raw: q.request.URL, origin: q.target.origin, expects: q.expects}
}

// base gives the URL of the request at hand, for what is relative to it.
func (f *follow) base() *url.URL {
	if f.url == nil {
		var err error
		if f.url, err = url.Parse(f.raw); err != nil { // sendable, but nothing for package url
			f.url, _ = url.Parse(f.origin + "/")
		}
	}
	return f.url
}

// exchanges sends q's request and those that the answers ask for.
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
			err = c.locate(q) // which the template had done
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

// dress gives the request at hand the headers that are its own.
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

// look sees an answer's head before its body is read, and reports whether another
// request comes after it.
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

// rewrite takes headers away from a request, which then is none that a template
// knows. The caller's own map stays as it is.
func (q *call) rewrite(drop func(name string) bool) {
	headers := make(map[string]string, len(q.request.Headers))
	for name, value := range q.request.Headers {
		if !drop(name) {
			headers[name] = value
		}
	}
	q.request.Headers, q.ready = headers, nil
}

// eachField gives the headers in lines to yield, until it returns false.
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

// fieldValues gives the values of a header, whose name is in lower case, as one list
// (RFC 9110, section 5.3).
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
