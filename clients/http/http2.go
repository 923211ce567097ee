package http

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gobench-io/gobench/internal/conn"
)

// HTTP/2 is net/http's, on connections that are opened here. It costs several times
// what an HTTP/1.1 request costs, and is chosen by Options.HTTP2 alone.

// wire is a connection as net/http sees it. It counts what passes, and remembers why
// the connection ended, which net/http tells only to calls that were under way.
type wire struct {
	*conn.Conn
	in, out atomic.Int64          // not yet entered in any call's counts
	foreign atomic.Bool           // the server has begun with something else than HTTP/2
	broken  atomic.Pointer[error] // what reading met
	settled chan struct{}         // closed once the server's settings are heeded, or never will be
	once    sync.Once             // for closing settled

	// The reader's.
	first [frameHead]byte // of the server's first frame
	seen  int             // bytes, as far as it matters for that frame
}

// frameHead is the length of a frame's head: length, type, flags, stream (RFC 9113,
// section 4.1).
const frameHead = 9

// settingsFrame is the type of the frame that a server begins with (section 3.4).
const settingsFrame = 4

func (w *wire) Read(p []byte) (int, error) {
	if w.seen >= frameHead && w.seen >= w.frame() { // net/http has taken the first frame, since it wants more
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

// frame gives the length of the server's first frame.
func (w *wire) frame() int {
	return frameHead + int(w.first[0])<<16 + int(w.first[1])<<8 + int(w.first[2])
}

// settle tells that the server's settings are heeded, or never will be.
func (w *wire) settle() { w.once.Do(func() { close(w.settled) }) }

// fault gives the error of a call its class, and its cause if net/http has kept that
// for itself.
func (w *wire) fault(err error) error {
	if w.foreign.Load() {
		return errNoHTTP2
	}
	if why := w.broken.Load(); why != nil && conn.Classify(err) == conn.Other && strings.Contains(err.Error(), "client conn") {
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

// Close ends reading and writing under way; who uses the link drops it afterwards. If
// net/http closes what the server has not, the server has broken the rules.
func (w *wire) Close() error {
	w.broken.CompareAndSwap(nil, &errRules)
	w.settle()
	w.Abort()
	return nil
}

var errRules error = &conn.Error{Class: conn.Protocol, Err: errors.New("the server breaks the rules of HTTP/2")}

func (w *wire) LocalAddr() net.Addr              { return w.Peer() } // net/http does not use it
func (w *wire) RemoteAddr() net.Addr             { return w.Peer() }
func (w *wire) SetDeadline(time.Time) error      { return nil } // calls have contexts
func (w *wire) SetReadDeadline(time.Time) error  { return nil }
func (w *wire) SetWriteDeadline(time.Time) error { return nil }

// wireKey is the key under which a dialing context carries the connection.
type wireKey struct{}

// newHTTP2 makes what turns wires into HTTP/2 connections, secure or not.
func newHTTP2(continueTimeout time.Duration) *nethttp.Transport {
	t := &nethttp.Transport{
		DisableCompression:    true,
		ExpectContinueTimeout: continueTimeout,
		Protocols:             new(nethttp.Protocols),
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return ctx.Value(wireKey{}).(*wire), nil
		},
	}
	t.Protocols.SetUnencryptedHTTP2(true)
	return t
}

// exchange2 is exchange over HTTP/2.
func (c *client) exchange2(ctx context.Context, q *call) error {
	for again := false; ; again = true {
		m, err := c.mux(ctx, q)
		if err != nil {
			return err
		}
		used := m.used.Load()
		unserved, err := c.over2(ctx, q, m)
		// An end that came when the connection was idle is no failure: see exchange.
		stale := unserved || used && q.status == 0 && m.cc.Err() != nil && q.request.idempotent()
		c.unmux(m)
		if err == nil || again || !stale || ctx.Err() != nil {
			return err
		}
	}
}

// over2 sends q's request over m and reads the answer. It reports whether the server
// has not even begun with the request, since it ends the connection in order.
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
	q.status, q.first = 0, 0
	used := m.used.Load()
	request, body, err := q.request2(timed)
	if err != nil {
		m.cc.Release()
		late()
		return false, err
	}
	resp, err := m.cc.RoundTrip(request)
	late()
	if err == nil {
		q.first = conn.Now()
		q.status = resp.StatusCode
		err = q.receive2(resp)
		resp.Body.Close()
	}
	if body != nil {
		body.end()
	}
	q.in += m.wire.in.Swap(0)
	q.out += m.wire.out.Swap(0)
	if err == nil {
		m.used.Store(true)
		q.end = conn.Now()
		if used {
			q.reused++
		}
		return false, nil
	}
	q.body = nil
	if body != nil {
		if own := body.fault.Load(); own != nil {
			return false, *own
		}
	}
	if err := c.ctx.Err(); err != nil {
		return false, err
	}
	if timed.Err() != nil && ctx.Err() == nil {
		return false, &net.OpError{Op: "read", Net: "tcp", Addr: m.wire.Peer(), Err: os.ErrDeadlineExceeded}
	}
	unserved = strings.Contains(err.Error(), "graceful shutdown GOAWAY") || strings.Contains(err.Error(), "client conn not usable")
	return unserved, m.wire.fault(err)
}

// request2 is q's request as net/http wants it, and its body, unless that is in
// memory. The headers are those of HTTP/1.1 but for what frames a message there; the
// path stays as it is.
func (q *call) request2(ctx context.Context) (*nethttp.Request, *body2, error) {
	u := &url.URL{Scheme: "http", Host: q.target.host, Opaque: q.path}
	if q.target.secure {
		u.Scheme = "https"
	}
	if len(q.path) > 1 && q.path[1] == '/' {
		u.Opaque = "//" + q.target.host + q.path
	}
	r := &nethttp.Request{Method: q.request.Method, URL: u, Header: nethttp.Header{}}
	lines := q.appendHead(nil)
	if q.follow != nil {
		lines = append(lines, q.follow.lines...)
	}
	_, lines, _ = bytes.Cut(lines, []byte{'\n'}) // the request line
	eachField(lines, func(name, value []byte) bool {
		switch {
		case foldEqual(name, "host"):
			r.Host = string(value)
		case foldEqual(name, "connection"):
		default:
			r.Header.Add(string(name), string(value))
		}
		return true
	})
	if r.Header["User-Agent"] == nil {
		r.Header["User-Agent"] = []string{""} // else net/http names itself
	}
	var body *body2
	if up := q.upload; up != nil {
		if err := up.open(); err != nil {
			return nil, nil, err
		}
		body = newBody2(up, r)
	} else if q.request.hasLength() {
		r.ContentLength = int64(len(q.request.Body))
		r.Body = nethttp.NoBody
		if r.ContentLength > 0 {
			r.Body = io.NopCloser(bytes.NewReader(q.request.Body))
		}
	}
	return r.WithContext(ctx), body, nil
}

// body2 is an upload as net/http reads it. It remembers a fault of the body itself.
type body2 struct {
	io.Reader
	source io.Closer // nil: the body is in memory
	left   int64     // of the size that was told; -1: none was
	upload *upload
	ends   nethttp.Header // the request's trailers
	fault  atomic.Pointer[bodyError]
	shut   sync.Once

	mu   sync.Mutex // held within each Read
	over bool
}

// newBody2 gives r the upload's body.
func newBody2(up *upload, r *nethttp.Request) *body2 {
	b := &body2{Reader: bytes.NewReader(up.data), left: up.size, upload: up}
	if up.opened != nil {
		b.Reader, b.source = up.opened, up.opened
		up.opened = nil
	}
	r.Body, r.ContentLength = b, up.size
	if up.size == 0 { // else net/http takes the length for unknown
		b.Close()
		r.Body = nethttp.NoBody
	}
	if up.trailers != nil {
		r.Trailer = nethttp.Header{}
		for name := range up.trailers {
			r.Trailer[nethttp.CanonicalHeaderKey(name)] = nil
		}
		b.ends = r.Trailer
	}
	return b
}

func (b *body2) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return 0, errNotSent
	}
	if b.left >= 0 {
		if p = p[:min(b.left, int64(len(p)))]; b.left == 0 {
			return 0, io.EOF
		}
	}
	n, err := b.Reader.Read(p)
	if b.left >= 0 {
		b.left -= int64(n)
	}
	switch {
	case err == io.EOF && b.left > 0:
		return n, b.fail(fmt.Sprintf("it ended %d bytes before the size that its Source told", b.left))
	case err == io.EOF:
		for name, value := range b.upload.trailers { // which may have been set while it was read
			if err := checkTrailer(name, value); err != nil {
				return n, b.fail(err.Error())
			}
			b.ends[nethttp.CanonicalHeaderKey(name)] = []string{value}
		}
	case err != nil:
		return n, b.fail(err.Error())
	}
	return n, err
}

func (b *body2) fail(text string) error {
	b.fault.CompareAndSwap(nil, &bodyError{text})
	return *b.fault.Load()
}

func (b *body2) Close() (err error) {
	b.shut.Do(func() {
		if b.source != nil {
			err = b.source.Close()
		}
	})
	return err
}

// end closes the body, and waits for a Read that is under way.
func (b *body2) end() {
	_ = b.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
}

var discards = sync.Pool{New: func() any { b := make([]byte, 16<<10); return &b }}

// receive2 takes what q wants of an answer.
func (q *call) receive2(resp *nethttp.Response) error {
	keep := !q.request.Discard
	if q.keepHead || q.follow != nil {
		head := head2(resp)
		if q.keepHead {
			q.head = head
		}
		if q.follow != nil && q.follow.look(resp.StatusCode, head) {
			keep = false // another request follows: only its answer is wanted
		}
	}
	q.body, q.trailers = nil, nil
	if !keep {
		b := discards.Get().(*[]byte)
		defer discards.Put(b)
		for {
			if _, err := resp.Body.Read(*b); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
	if resp.ContentLength > q.maxBody {
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
	if body.Len() > 0 {
		q.body = body.Bytes()
	}
	if err == nil && q.keepHead && len(resp.Trailer) > 0 {
		var lines bytes.Buffer
		_ = resp.Trailer.Write(&lines) // a Buffer takes all
		q.trailers = lines.Bytes()
	}
	return err
}

// head2 writes an answer's head as Header reads it.
func head2(resp *nethttp.Response) []byte {
	var b bytes.Buffer
	b.WriteString("HTTP/2.0 " + strconv.Itoa(resp.StatusCode) + "\r\n")
	_ = resp.Header.Write(&b) // a Buffer takes all
	b.WriteString("\r\n")
	return b.Bytes()
}

// classified2 gives an error of net/http's HTTP/2 its class. Its errors have no types
// to tell them by; those of the connection come through as they are.
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
