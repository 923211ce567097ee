package http

import (
	"net/url"
	"strings"
)

// isRedirect reports whether a status points elsewhere and may be followed without asking the
// user (RFC 9110, section 15.4). 300 requires a choice; 304 and 305 are not redirects.
func isRedirect(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

// points returns the target of an answer's Location, resolved and without its fragment, or nil
// if it can't be followed: the answer is then the operation's. lines are the answer's header
// lines.
func (f *follow) points(lines []byte) *url.URL {
	var location string
	eachField(lines, func(name, value []byte) bool {
		if foldEqual(name, "location") {
			location = string(value)
		}
		return location == ""
	})
	if location == "" {
		return nil
	}
	u, err := f.base().Parse(location)
	if err != nil {
		return nil
	}
	u.Fragment, u.RawFragment = "", ""
	origin, _, err := split(u.String())
	if err != nil {
		return nil
	}
	if _, err := f.c.family.target(origin); err != nil {
		return nil
	}
	return u
}

// redirect changes q's request to the one that the current answer points to. After See Other
// it is a GET, unless it was a HEAD, as is a POST after a status 301 or 302; other methods and
// their bodies stay (RFC 9110, sections 15.4.2 to 15.4.9). Credentials and cookies that the
// caller set as headers, and a Host, are not sent to another server. The error is that of
// locate; q must not be sent then. f.location must be set.
func (f *follow) redirect(q *call) error {
	r := &q.request
	from := q.target.origin
	f.url = f.location
	r.URL = f.url.String()
	if err := f.c.locate(q); err != nil {
		return err
	}
	bare := q.status == 303 && r.Method != "GET" && r.Method != "HEAD" ||
		(q.status == 301 || q.status == 302) && r.Method == "POST"
	if bare {
		r.Method, r.Body, r.Source, r.Chunked, r.Trailers = "GET", nil, nil, false, nil
		q.done()
		q.upload, q.expects, f.expects = nil, false, false
	}
	away := q.target.origin != from
	q.rewrite(func(name string) bool {
		name = strings.ToLower(name)
		switch name {
		case "authorization", "proxy-authorization", "cookie", "host":
			return away
		case "expect", "trailer":
			return bare
		}
		return bare && strings.HasPrefix(name, "content-")
	})
	q.added = f.c.settings.added
	if q.target.origin != f.origin {
		q.added = f.c.settings.addedAway
	}
	return nil
}
