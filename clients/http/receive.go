package http

import (
	"bytes"
	"io"

	"github.com/gobench-io/gobench/internal/conn"
)

// receive reads the whole answer: its status, and what q wants to keep of head and
// body. It reports whether the connection may be used again.
func (q *call) receive(cn *conn.Conn) (again bool, err error) {
	h, err := q.receiveHead(cn)
	if err != nil {
		return false, err
	}
	if q.keepHead {
		q.head = bytes.Clone(cn.Unread()[:h.size])
	}
	cn.Take(h.size)
	if q.whole > 0 {
		cn.Rearm(q.start, q.whole)
	}

	b := body{cn: cn, keep: !q.request.Discard, max: q.maxBody}
	again = h.lasts() && !q.closes
	// RFC 9112, section 6.3, in its order.
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
		return false, err
	}
	q.status, q.body, q.end = h.status, b.data, conn.Now()
	// Bytes after the answer were not asked for: what they mean can't be known.
	return again && len(cn.Unread()) == 0, nil
}

// receiveHead reads the head of the final answer and leaves it unread. Interim
// answers (RFC 9110, section 15.2) are read past.
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
	for {
		if err := h.read(cn); err != nil {
			return h, err
		}
		if h.status >= 200 {
			break
		}
		cn.Take(h.size)
		h = head{}
	}
	if q.ready != nil {
		q.ready.answer.learn(h, cn.Unread(), q.start)
	}
	return h, nil
}

// read reads a head and leaves it unread.
func (h *head) read(cn *conn.Conn) error {
	for {
		if done, err := h.parse(cn.Unread()); done || err != nil {
			return err
		}
		if err := cn.Fill(); err != nil {
			return endedEarly(cn, err)
		}
	}
}

// endedEarly names the error that came instead of a head.
func endedEarly(cn *conn.Conn, err error) error {
	switch {
	case err == conn.ErrFull:
		return errHeadSize
	case (err == io.EOF || err == io.ErrUnexpectedEOF) && len(cn.Unread()) == 0:
		return errSilent
	}
	return cutShort(err)
}
