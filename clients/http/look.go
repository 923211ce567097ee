package http

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/internal/load/conn"
	"github.com/gobench-io/gobench/internal/run/units"
)

// look is a copy of the current request and its answer. It is made of every request while
// exchanges are watched, and otherwise of an answer with a failing status that is stored as a
// sample.
type look struct {
	parts []executor.Part
	about []string
	head  []byte // of the answer
	body  []byte // its beginning, as received
	size  int64  // of the whole body
}

// lookAt starts copying an answer with a failing status, into q.look, if it is to be stored as
// a sample. It does nothing if the exchange is copied already.
func (q *call) lookAt(status int) {
	if q.look == nil && q.link != nil && q.client.wantsStatus(status) {
		q.look = new(look)
		q.look.over(q.link, q.link.reused())
	}
}

// lookAtRest stores a copy of rest, the part of a head that stayed incomplete because of err,
// up to executor.Shown bytes, if the exchange is copied or a sample of err is to be stored.
func (q *call) lookAtRest(rest []byte, err error) {
	if len(rest) == 0 || q.look == nil && (q.link == nil || !q.client.recorder.WantsSample(q.client.family.prefix, conn.Classify(err).String())) {
		return
	}
	if q.look == nil {
		q.look = new(look)
		q.look.over(q.link, q.link.reused())
	}
	q.look.head = bytes.Clone(rest[:min(len(rest), executor.Shown)])
}

// connected records how long connecting took, and the lookup of the name, if there was one.
func (k *look) connected(took conn.Times) {
	if took.Lookup > 0 {
		k.took("lookup", took.Lookup)
	}
	k.took("connect", took.Connect)
}

func (k *look) took(part string, d time.Duration) {
	k.parts = append(k.parts, executor.Part{Name: part, Took: d})
}

// over records that the request is sent over l; used means that l has served before. It
// discards what was received over another connection before.
func (k *look) over(l *link, used bool) {
	k.head, k.body, k.size, k.about = nil, nil, 0, nil
	if used {
		k.about = append(k.about, "a connection used before")
	} else {
		k.about = append(k.about, "a new connection")
	}
	if state := l.TLS(); state != nil {
		k.about = append(k.about, tls.VersionName(state.Version))
		if state.DidResume {
			k.about = append(k.about, "resumed")
		}
	}
}

// see copies a piece of the body, of which at most executor.Shown bytes are stored, and adds
// its length to size. On a nil look it does nothing.
func (k *look) see(piece []byte) {
	if k == nil {
		return
	}
	k.size += int64(len(piece))
	k.body = append(k.body, piece[:min(len(piece), executor.Shown-len(k.body))]...)
}

// seenBody is an HTTP/2 body that is copied as it is read.
type seenBody struct {
	io.ReadCloser
	look *look
}

func (b *seenBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.look.see(p[:n])
	return n, err
}

// asSeen returns q's current request and its outcome for display, with Options.Decode the body
// decoded if all of it was copied. err is the request's error, or nil. The Exchange shares
// memory with q and must be rendered before q changes.
func (c *client) asSeen(q *call, err error) executor.Exchange {
	now := conn.Now()
	x := executor.Exchange{
		Source: c.family.prefix,
		What:   q.request.Method + " " + q.request.URL,
		Began:  time.Now().Add(q.now - now),
	}
	if q.link != nil {
		x.Peer = q.link.Peer().String()
		x.Sent = c.sent(q)
	}
	if k := q.look; k != nil {
		x.About, x.Parts = k.about, k.parts
		x.Came = executor.Message{Head: string(k.head), Body: k.body, Size: k.size}
		if f := q.follow; f != nil && f.coding != "" && k.size == int64(len(k.body)) {
			if body, err := decode(k.body, f.coding, int64(c.settings.MaxBody)); err == nil {
				x.Came.Body, x.Came.Size = body, int64(len(body))
				x.About = append(x.About, "decoded from "+f.coding)
			}
		}
	}
	if c.settings.HTTP2 {
		x.About = append(x.About, "HTTP/2")
	}
	if err != nil {
		x.Error = c.where(q, err, now-q.now) + "\n" + err.Error()
		return x
	}
	x.Parts = append(x.Parts, executor.Part{Name: "first byte", Took: q.first - q.now}, executor.Part{Name: "all", Took: q.end - q.now})
	return x
}

// where describes the class of err, in which phase of the current request it occurred, and how
// long after its start, as "timeout after 60.0 s, connecting".
func (c *client) where(q *call, err error, after time.Duration) string {
	class := conn.Classify(err)
	op := ""
	if e, ok := errors.AsType[*net.OpError](err); ok {
		op = e.Op
	}
	where := "waiting for the answer, of which nothing had come"
	switch {
	case class == conn.DNS:
		where = "looking the name up"
	case class == conn.ByProxy:
		where = "finding a way through the proxy"
	case op == "handshake" || q.link == nil && class == conn.TLS:
		where = "in the TLS handshake"
	case errors.Is(err, errNoFree):
		where = "waiting for a free connection"
	case q.link == nil:
		where = "connecting"
	case op == "write":
		where = "sending the request"
	case q.cut != 0:
		where = fmt.Sprintf("within the body of the answer: status %d and %d bytes in all had come", q.cut, q.got)
	case q.status != 0:
		where = fmt.Sprintf("with the whole answer there: status %d and %d bytes", q.status, q.got)
	case q.got > 0:
		where = fmt.Sprintf("within the head of the answer: %d bytes had come", q.got)
	}
	return fmt.Sprintf("%s after %s, %s", class, units.Millis(after.Seconds()*1e3), where)
}

// sent returns the current request as it was sent, with its body if that is in memory. Over
// HTTP/2 it is in the form of HTTP/1.1 except for the version.
func (c *client) sent(q *call) executor.Message {
	head := q.appendRequest(nil)
	if c.settings.HTTP2 {
		head = bytes.Replace(head, []byte(" HTTP/1.1\r\n"), []byte(" HTTP/2\r\n"), 1)
		head = bytes.Replace(head, []byte("Transfer-Encoding: chunked\r\n"), nil, 1) // which HTTP/2 does not use
	}
	m := executor.Message{Head: string(head)}
	if u := q.upload; u != nil {
		m.Body, m.Size = u.data, max(u.size, 0)
	} else {
		m.Body, m.Size = q.request.Body, int64(len(q.request.Body))
	}
	return m
}
