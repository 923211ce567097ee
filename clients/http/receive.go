package http

import (
	"bytes"
	"io"

	"github.com/gobench-io/gobench/internal/conn"
)

// receive reads the whole answer: its status, and what q wants to keep of head and
// body. It reports whether the connection may be used again.
func (q *call) receive(cn *conn.Conn) (again bool, err error) {
	var h head
	for {
		h = head{}
		if err := h.read(cn); err != nil {
			return false, err
		}
		if h.status >= 200 {
			break
		}
		cn.Take(h.size) // an interim answer (RFC 9110, section 15.2): the final one follows
	}
	if q.keepHead {
		q.head = bytes.Clone(cn.Unread()[:h.size])
	}
	cn.Take(h.size)

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

// read reads a head and leaves it unread.
func (h *head) read(cn *conn.Conn) error {
	for {
		if done, err := h.parse(cn.Unread()); done || err != nil {
			return err
		}
		switch err := cn.Fill(); {
		case err == nil:
		case err == conn.ErrFull:
			return errHeadSize
		case (err == io.EOF || err == io.ErrUnexpectedEOF) && len(cn.Unread()) == 0:
			return errSilent
		default:
			return cutShort(err)
		}
	}
}
