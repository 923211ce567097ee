package http

import (
	"bytes"
	"io"

	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/internal/load/conn"
)

// maxInterim limits the interim answers before a final answer, in bytes.
const maxInterim = 64 << 10

// receive reads the whole answer into q: its status, and the parts of head and body that q
// needs. It reports whether the connection may be used again. With an error the results are
// incomplete; after a whole head q.cut is its status. It waits until the limit that arm has
// set; with a q.whole above 0, from the end of the head on until q.whole after q.start.
func (q *call) receive(cn *conn.Conn) (again bool, err error) {
	q.first = 0
	h, err := q.receiveHead(cn)
	if err != nil {
		q.lookAtRest(cn.Unread(), err)
		return false, err
	}
	if q.upload != nil {
		q.upload.proceed(false)
	}
	b := body{cn: cn, keep: !q.request.Discard, max: q.maxBody, keepTrailers: q.keepHead}
	if q.keepHead {
		q.head = bytes.Clone(cn.Unread()[:h.size])
	}
	if q.follow != nil && q.follow.look(h.status, cn.Unread()[:h.size]) {
		b.keep = false // another request follows, so this body is not needed
	} else if h.status > 299 {
		q.lookAt(h.status)
	}
	if b.look = q.look; b.look != nil {
		b.look.head = bytes.Clone(cn.Unread()[:min(h.size, executor.Shown)])
	}
	cn.Take(h.size)
	if q.whole > 0 {
		cn.Rearm(q.start, q.whole)
	}

	again = h.lasts() && !q.closes
	// The order is that of RFC 9112, section 6.3.
	switch {
	case q.request.Method == "HEAD" || h.status == 204 || h.status == 304:
	case h.chunked:
		err = b.chunked()
	case h.length >= 0:
		err = b.sized(h.length)
	default:
		again = false
		err = b.untilClose()
	}
	if err != nil {
		q.cut = h.status
		return false, err
	}
	q.status, q.body, q.trailers, q.end = h.status, b.data, b.ends, conn.Now()
	if q.first == 0 {
		q.first = b.waited
	}
	if q.first == 0 { // all of it arrived at once
		q.first = q.end
	}
	// Bytes after the answer belong to no request, so the connection can't be used again.
	return again && len(cn.Unread()) == 0, nil
}

// receiveHead parses the head of the final answer and leaves it unread: it is the first h.size
// unread bytes. It skips interim answers (RFC 9110, section 15.2), at most 64 KiB, and
// notifies an upload of a 100. It returns errSilent if the connection ends before the first
// byte.
func (q *call) receiveHead(cn *conn.Conn) (h head, err error) {
	if len(cn.Unread()) == 0 {
		if err := cn.Fill(); err != nil {
			return h, endedEarly(cn, err)
		}
	}
	if q.ready != nil {
		if h, ok := q.ready.answer.find(cn.Unread()); ok {
			return h, nil
		}
	}
	for interim := 0; ; {
		if err := q.readHead(&h, cn); err != nil {
			return h, err
		}
		if h.status >= 200 {
			break
		}
		if q.upload != nil && h.status == 100 {
			q.upload.proceed(true)
		}
		if interim += h.size; interim > maxInterim {
			return h, errInterim
		}
		cn.Take(h.size)
		h, q.first = head{}, 0
	}
	if q.ready != nil {
		q.ready.answer.learn(h, cn.Unread(), q.start)
	}
	return h, nil
}

// readHead parses a head, for which it waits, and leaves it unread. h must be zero. The errors
// are those of parse and endedEarly.
func (q *call) readHead(h *head, cn *conn.Conn) error {
	for {
		if done, err := h.parse(cn.Unread()); done || err != nil {
			return err
		}
		if q.first == 0 && len(cn.Unread()) > 0 {
			q.first = conn.Now()
		}
		if err := cn.Fill(); err != nil {
			return endedEarly(cn, err)
		}
	}
}

// endedEarly returns the error for a connection that ended, with err, before a whole head:
// errHeadSize if the buffer is full, errSilent before the first byte, or that of cutShort.
func endedEarly(cn *conn.Conn, err error) error {
	switch {
	case err == conn.ErrFull:
		return errHeadSize
	case (err == io.EOF || err == io.ErrUnexpectedEOF) && len(cn.Unread()) == 0:
		return errSilent
	}
	return cutShort(err)
}
