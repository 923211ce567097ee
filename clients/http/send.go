package http

import (
	"net"
	"strconv"
	"sync"

	"github.com/gobench-io/gobench/internal/load/conn"
)

const (
	// oneWrite is the largest length of head and body that are copied into one buffer.
	oneWrite = 16 << 10
	// inTurn is the largest body that is written before the answer is read. A longer one is
	// written concurrently (see upload): a server that answers while it reads would otherwise
	// block, and we with it.
	inTurn = 64 << 10
)

// sendBuffer holds a rendered request. It returns to the pool before the answer is waited for.
type sendBuffer struct{ b []byte }

var sendBuffers = sync.Pool{New: func() any { return &sendBuffer{make([]byte, 0, oneWrite)} }}

// send writes a request that has no upload. It may already receive the first bytes of the
// answer, which are then unread. The error is that of writing, or of the class EOF if the
// server closed the connection while it was idle.
func (q *call) send(cn *conn.Conn) error {
	if q.asks() {
		switch {
		case q.quick:
			return cn.Ask(q.ready.lines, q.now)
		case q.idle:
			return cn.AskIdle(q.ready.lines)
		}
		_, err := cn.Write(q.ready.lines)
		return err
	}
	buf := sendBuffers.Get().(*sendBuffer)
	defer sendBuffers.Put(buf)
	b := q.appendRequest(buf.b[:0])
	if len(b)+len(q.request.Body) > oneWrite {
		return cn.WriteParts(net.Buffers{b, q.request.Body})
	}
	_, err := cn.Write(append(b, q.request.Body...))
	return err
}

// asks reports whether the request is one piece that is already rendered: q.ready.lines.
func (q *call) asks() bool {
	return q.ready != nil && q.upload == nil && !q.request.hasLength() && (q.follow == nil || len(q.follow.lines) == 0)
}

// appendRequest renders the request up to its body: the head with the blank line. q must be
// prepared.
func (q *call) appendRequest(b []byte) []byte {
	if q.ready != nil {
		b = append(b, q.ready.lines[:len(q.ready.lines)-len("\r\n")]...)
	} else {
		b = q.appendHead(b)
	}
	if q.follow != nil {
		b = append(b, q.follow.lines...)
	}
	if q.upload != nil {
		b = q.upload.appendFraming(b)
	} else if q.request.hasLength() {
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, int64(len(q.request.Body)), 10)
		b = append(b, "\r\n"...)
	}
	return append(b, "\r\n"...)
}
