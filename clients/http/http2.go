package http

import (
	"context"
	"errors"
	"io"
	"net"
	nethttp "net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gobench-io/gobench/internal/load/conn"
)

// HTTP/2 uses net/http, on connections that are opened here. A request costs several times what
// an HTTP/1.1 request costs. Only Options.HTTP2 selects it.

// wire is a connection as net/http sees it. It counts the bytes transferred, and stores why
// the connection ended, which net/http reports only to calls in flight. Read is for one
// goroutine, Write for another; its deadlines do nothing.
type wire struct {
	*conn.Conn
	in, out atomic.Int64          // not yet added to a call's counts
	foreign atomic.Bool           // the server's first bytes are not HTTP/2
	broken  atomic.Pointer[error] // the error of reading
	settled chan struct{}         // closed when the server's settings are applied, or never will be
	once    sync.Once             // for closing settled

	// Used by the reader.
	first [frameHead]byte // header of the server's first frame
	seen  int             // bytes read, counted until the first frame is complete
}

// frameHead is the length of a frame's header: length, type, flags, stream (RFC 9113, section
// 4.1).
const frameHead = 9

// settingsFrame is the type of a server's first frame (section 3.4).
const settingsFrame = 4

// Read reads from the connection; the error is that of its Read. It also closes settled when
// the server's first frame has been processed, or the connection can't become HTTP/2.
func (w *wire) Read(p []byte) (int, error) {
	if w.seen >= frameHead && w.seen >= w.frame() { // net/http has processed the first frame, since it reads again
		w.settle()
	}
	n, err := w.Conn.Read(p)
	if w.seen < frameHead+1<<24 { // the longest frame
		if w.seen < frameHead {
			copy(w.first[w.seen:], p[:n])
		}
		w.seen += n
		if w.seen > 3 && w.first[3] != settingsFrame {
			w.foreign.Store(true)
			w.settle()
		}
	}
	w.in.Add(int64(n))
	if err != nil {
		w.broken.CompareAndSwap(nil, &err)
		w.settle()
	}
	return n, err
}

// frame returns the length of the server's first frame.
func (w *wire) frame() int {
	return frameHead + int(w.first[0])<<16 + int(w.first[1])<<8 + int(w.first[2])
}

// settle reports that the server's settings are applied, or never will be.
func (w *wire) settle() { w.once.Do(func() { close(w.settled) }) }

// fault returns the error of a call with its class, and with its cause if net/http has not
// reported it: errNoHTTP2 if the server does not speak HTTP/2, errSilent if it closed the
// connection without an answer, errLengthMissed if only the body ended early. err must not be
// nil.
func (w *wire) fault(err error) error {
	if w.foreign.Load() {
		return errNoHTTP2
	}
	why := w.broken.Load()
	if why == nil && err == io.ErrUnexpectedEOF {
		return errLengthMissed
	}
	if why != nil && conn.Classify(err) == conn.Other && strings.Contains(err.Error(), "client conn") {
		if *why == io.EOF {
			return errSilent
		}
		err = *why
	}
	return classified2(err)
}

func (w *wire) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	w.out.Add(int64(n))
	return n, err
}

// Close ends pending reads and writes; the link's user drops the link afterwards. If net/http
// closes a connection that the server has not closed, the server has violated the protocol. It
// returns nil.
func (w *wire) Close() error {
	w.broken.CompareAndSwap(nil, &errRules)
	w.settle()
	w.Abort()
	return nil
}

var errLengthMissed = malformed("the body is shorter than its Content-Length")

var errRules error = &conn.Error{Class: conn.Protocol, Err: errors.New("the server breaks the rules of HTTP/2")}

func (w *wire) LocalAddr() net.Addr              { return w.Peer() } // net/http does not use it
func (w *wire) RemoteAddr() net.Addr             { return w.Peer() }
func (w *wire) SetDeadline(time.Time) error      { return nil } // calls have contexts
func (w *wire) SetReadDeadline(time.Time) error  { return nil }
func (w *wire) SetWriteDeadline(time.Time) error { return nil }

// wireKey is the context key under which a dial receives the connection.
type wireKey struct{}

// newHTTP2 returns a transport that speaks HTTP/2 over wires, with or without TLS. It does not
// dial: the context of NewClientConn must carry the wire under wireKey.
func newHTTP2(o *Options) *nethttp.Transport {
	t := &nethttp.Transport{
		DisableCompression:     true, // Options.Decode does it
		ExpectContinueTimeout:  o.ContinueTimeout,
		MaxResponseHeaderBytes: conn.MaxUnread, // as for HTTP/1.1
		Protocols:              new(nethttp.Protocols),
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return ctx.Value(wireKey{}).(*wire), nil
		},
	}
	t.Protocols.SetUnencryptedHTTP2(true)
	return t
}

// exchange2 is transfer over HTTP/2: it sends q's request again, once, if the server did not
// process it or, for an idempotent one with Options.Resend, if an idle connection turned out to
// be closed.
func (c *client) exchange2(ctx context.Context, q *call) error {
	for again := false; ; again = true {
		q.status = 0
		if q.upload != nil {
			if err := q.upload.open(); err != nil {
				return err
			}
		}
		q.link = nil
		m, err := c.mux(ctx, q)
		if err != nil {
			return err
		}
		used := m.used.Load()
		q.link = m.link
		if q.look != nil {
			q.look.over(m.link, used)
		}
		unserved, err := c.over2(ctx, q, m)
		// If the connection ended while it was idle, the call has not failed: see exchange.
		stale := unserved || c.settings.Resend && used && q.status == 0 && m.cc.Err() != nil && q.request.idempotent()
		if q.closes {
			c.mu.Lock()
			c.retire(m)
			c.mu.Unlock()
		}
		c.unmux(m)
		if err == nil || again || !stale || ctx.Err() != nil {
			return err
		}
		c.family.meters.resent.RecordIn(q.phase, 1)
	}
}

// over2 sends q's request over m and reads the answer into q. unserved means that the server
// closed the connection cleanly without processing the request. It returns when the answer is
// complete, and otherwise at the time limit, or when ctx or the client ends. It adds the bytes
// transferred since the last call over m to q, also with an error: the client's ctx's, the
// body's own, one of the class Timeout for a time limit, or that of fault.
func (c *client) over2(ctx context.Context, q *call, m *mux) (unserved bool, err error) {
	timed, cancel := context.WithTimeout(ctx, q.start+c.settings.Timeout-conn.Now())
	defer cancel()
	late := func() {}
	if d := c.settings.HeaderTimeout; d > 0 {
		var stop context.CancelFunc
		timed, stop = context.WithCancel(timed)
		defer stop()
		timer := time.AfterFunc(d, stop)
		late = func() { timer.Stop() }
	}
	r, body := q.request2(timed)
	resp, err := m.cc.RoundTrip(r)
	late()
	if err == nil {
		q.first = conn.Now()
		q.status = resp.StatusCode
		err = q.receive2(resp)
		resp.Body.Close()
	}
	body.finish()
	q.got = m.wire.in.Swap(0)
	q.in += q.got
	q.out += m.wire.out.Swap(0)
	if err == nil {
		if m.used.Swap(true) {
			q.reused++
		}
		q.end = conn.Now()
		return false, nil
	}
	q.body, q.cut = nil, q.status
	if err := c.ctx.Err(); err != nil {
		return false, err
	}
	if err := body.fault(); err != nil {
		return false, err
	}
	if timed.Err() != nil && ctx.Err() == nil {
		return false, &net.OpError{Op: "read", Net: "tcp", Addr: m.wire.Peer(), Err: os.ErrDeadlineExceeded}
	}
	unserved = strings.Contains(err.Error(), "graceful shutdown GOAWAY") || strings.Contains(err.Error(), "client conn not usable")
	return unserved, m.wire.fault(err)
}

// classified2 adds the class to an error, not nil, of net/http's HTTP/2: Reset, EOF, or
// Protocol if nothing else applies. Its errors have no exported types, so their texts are
// compared; errors of the connection are returned unchanged.
func classified2(err error) error {
	if class := conn.Classify(err); class != conn.Other {
		return err
	}
	has := func(part string) bool { return strings.Contains(err.Error(), part) }
	class := conn.Protocol
	switch {
	case has("received from peer"), has("server sent GOAWAY") && !has("ErrCode=NO_ERROR"):
		class = conn.Reset
	case has("GOAWAY"), has("client conn"), has("client connection"):
		class = conn.EOF
	case errors.Is(err, nethttp.ErrBodyReadAfterClose):
		class = conn.EOF
	}
	return &conn.Error{Class: class, Err: err}
}
