package http

import (
	"bytes"
	"context"
	"fmt"
	"io"
	nethttp "net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
)

// check2 returns an error, which names the header, for headers that HTTP/2 does not allow (RFC
// 9113, section 8.2.2).
func (r *Request) check2() error {
	for name, value := range r.Headers {
		switch strings.ToLower(name) {
		case "upgrade", "keep-alive", "proxy-connection", "http2-settings":
			return fmt.Errorf("header %s: not allowed in HTTP/2 (RFC 9113, section 8.2.2): leave it out", name)
		case "connection":
			for option := range strings.SplitSeq(value, ",") {
				if option = strings.Trim(option, " \t"); !foldEqual(option, "close") && !foldEqual(option, "keep-alive") {
					return fmt.Errorf("header %s: %q: HTTP/2 allows only close and keep-alive (RFC 9113, section 8.2.2)", name, option)
				}
			}
		case "te":
			if !foldEqual(value, "trailers") {
				return fmt.Errorf("header %s: %q: HTTP/2 allows only trailers (RFC 9113, section 8.2.2)", name, value)
			}
		case "host":
			if value == "" {
				return fmt.Errorf("header %s: empty, but HTTP/2 has to name the server", name)
			}
		}
	}
	return nil
}

// request2 returns q's request for net/http, with ctx, and its body, nil if it has none. The
// path is sent as it is. The source of an upload must be open. The caller must call finish on
// the body, also if it is nil.
func (q *call) request2(ctx context.Context) (*nethttp.Request, *sender) {
	u := &url.URL{Scheme: "http", Host: q.target.host, Opaque: q.path}
	if q.target.secure {
		u.Scheme = "https"
	}
	if len(q.path) > 1 && q.path[1] == '/' {
		u.Opaque = "//" + q.target.host + q.path
	}
	r := &nethttp.Request{Method: q.request.Method, URL: u, Header: nethttp.Header{"User-Agent": {userAgent}}}
	for name, value := range q.request.Headers {
		switch {
		case foldEqual(name, "host"):
			r.Host = value
		case foldEqual(name, "user-agent"):
			r.Header.Set(name, value)
		case foldEqual(name, "content-length"), foldEqual(name, "connection"): // HTTP/1.1 framing
		default:
			r.Header.Add(name, value)
		}
	}
	if q.added != nil {
		q.added.each(&q.request, r.Header.Add)
	}
	if q.follow != nil {
		eachField(q.follow.lines, func(name, value []byte) bool {
			r.Header.Add(string(name), string(value))
			return true
		})
	}
	body := newSender(q)
	switch {
	case body == nil:
	case body.left == 0:
		r.Body = nethttp.NoBody
	default:
		r.Body, r.ContentLength, r.Trailer = body, body.left, body.trailer
	}
	return r.WithContext(ctx), body
}

var discards = sync.Pool{New: func() any { b := make([]byte, 16<<10); return &b }}

// receive2 reads what q needs of an answer, and all of its body, into q. It does not close the
// body. The error is errTooLarge, or one of net/http; q's fields are incomplete then.
func (q *call) receive2(resp *nethttp.Response) error {
	keep := !q.request.Discard
	q.head, q.body, q.trailers = nil, nil, nil
	follows := false
	if q.keepHead || q.follow != nil {
		head := head2(resp)
		if q.keepHead {
			q.head = head
		}
		if follows = q.follow != nil && q.follow.look(resp.StatusCode, head); follows {
			keep = false // another request follows, so this body is not needed
		}
	}
	if !follows && resp.StatusCode > 299 {
		q.lookAt(resp.StatusCode)
	}
	if q.look != nil {
		q.look.head = head2(resp)
		resp.Body = &seenBody{resp.Body, q.look}
	}
	var err error
	if keep {
		err = q.keep2(resp)
	} else {
		err = discard2(resp.Body)
	}
	if err == io.ErrUnexpectedEOF && (resp.StatusCode == 304 || resp.StatusCode == 204) { // the length is that of another answer
		err = nil
	}
	if q.keepHead && len(resp.Trailer) > 0 {
		q.trailers = lines2(resp.Trailer)
	}
	return err
}

// discard2 reads body to its end. The error is that of reading.
func discard2(body io.Reader) error {
	b := discards.Get().(*[]byte)
	defer discards.Put(b)
	for {
		if _, err := body.Read(*b); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// keep2 reads the answer's body into q.body, nil if it is empty. It returns errTooLarge for
// more than q.maxBody bytes, before reading if the length is announced. With an error q.body
// may have a part of it.
func (q *call) keep2(resp *nethttp.Response) error {
	if resp.ContentLength > q.maxBody && q.request.Method != "HEAD" {
		return errTooLarge
	}
	var body bytes.Buffer
	if resp.ContentLength > 0 {
		body.Grow(int(min(resp.ContentLength, firstBody)) + bytes.MinRead)
	}
	n, err := body.ReadFrom(io.LimitReader(resp.Body, q.maxBody+1))
	if err == nil && n > q.maxBody {
		err = errTooLarge
	}
	if q.body = body.Bytes(); len(q.body) == 0 {
		q.body = nil
	}
	return err
}

// head2 renders an answer's head, with the blank line, in the form that Header reads.
func head2(resp *nethttp.Response) []byte {
	return append([]byte("HTTP/2.0 "+strconv.Itoa(resp.StatusCode)+"\r\n"), append(lines2(resp.Header), "\r\n"...)...)
}

// lines2 renders headers as lines, sorted by name, each with CR LF.
func lines2(h nethttp.Header) []byte {
	var b bytes.Buffer
	_ = h.Write(&b) // writing to a Buffer does not fail
	return b.Bytes()
}
