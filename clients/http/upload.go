package http

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gobench-io/gobench/internal/load/conn"
)

// upload is a body that is written by its own goroutine while the answer is read: a large one,
// a Source, chunks, or one that waits for the server's "100 Continue". The server may answer
// before it has read all of it, or stop reading until its answer is read. Except for write,
// its methods are for the call's goroutine.
type upload struct {
	data     []byte
	source   Source        // instead of data
	opened   io.ReadCloser // the source, at its start; nil: not open
	size     int64         // -1: sent in chunks
	trailers map[string]string
	wait     time.Duration // for "100 Continue" before the body is sent anyway; 0: don't wait

	sent  chan error  // the result of writing
	go100 chan bool   // whether to write the body, if it waits for that
	shut  func()      // closes the source that is being written
	ended atomic.Bool // one side has failed, so later errors of the other are ignored
}

var (
	errNotSent    = errors.New("the server answered before the body was sent")
	errTwoBodies  = errors.New("Request.Body and Request.Source are both set: want one")
	errNoneToWait = errors.New("header Expect: 100-continue, but there is no body to wait with (RFC 9110, section 10.1.1)")
)

// newUpload returns the upload of q's body, with its Source open, which the caller must close
// or start. With q.expects ("Expect: 100-continue") the body is sent when the server permits
// it, or after wait; otherwise wait is not used. Without a body the upload is empty, or with
// q.expects an error; further errors are two bodies, a wrong trailer, or that of opening.
func newUpload(q *call, wait time.Duration) (*upload, error) {
	r := &q.request
	if r.Source != nil && len(r.Body) > 0 {
		return nil, errTwoBodies
	}
	if q.expects && r.Source == nil && len(r.Body) == 0 {
		return nil, errNoneToWait
	}
	for name, value := range r.Trailers {
		if err := checkTrailer(name, value); err != nil {
			return nil, err
		}
	}
	u := &upload{data: r.Body, source: r.Source, size: int64(len(r.Body)), trailers: r.Trailers}
	if q.expects {
		u.wait = wait
	}
	if r.Chunked || r.Trailers != nil {
		u.size = -1
	}
	if err := u.open(); err != nil {
		return nil, err
	}
	return u, nil
}

// open prepares the body for writing from its start: it opens the Source, unless it is open.
// Unless size is -1 already, it sets it to the Source's length, -1 if that is unknown. An
// error begins with "open the body: ".
func (u *upload) open() error {
	if u.source == nil || u.opened != nil {
		return nil
	}
	body, size, err := u.source.Open()
	if err != nil {
		return fmt.Errorf("open the body: %w", err)
	}
	if body == nil {
		return errors.New("open the body: the Source returned no body")
	}
	if u.opened = body; u.size >= 0 {
		u.size = max(size, -1)
	}
	return nil
}

// close closes a body that was opened and is not being written; otherwise it does nothing.
func (u *upload) close() {
	if u.opened != nil {
		u.opened.Close()
		u.opened = nil
	}
}

// notTrailers are headers that are needed to read or route a message and so can't follow its
// body (RFC 9110, section 6.5.1), in lower case.
var notTrailers = []string{"transfer-encoding", "content-length", "content-encoding", "content-type", "content-range",
	"host", "connection", "te", "trailer", "upgrade", "expect", "authorization", "proxy-authorization", "cookie", "max-forwards", "range"}

// checkTrailer returns an error if a trailer has no valid name or value, or can't come after
// the body.
func checkTrailer(name, value string) error {
	if !isName(name) {
		return fmt.Errorf("trailer %q: not a header's name", name)
	}
	if slices.Contains(notTrailers, strings.ToLower(name)) {
		return fmt.Errorf("trailer %s: can't come after the body (RFC 9110, section 6.5.1)", name)
	}
	return checkValue("trailer", name, value)
}

// appendFraming renders the headers that describe the body: its length, or chunks and the
// names of the trailers, sorted. Call open before.
func (u *upload) appendFraming(b []byte) []byte {
	if u.size >= 0 {
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, u.size, 10)
		return append(b, "\r\n"...)
	}
	b = append(b, "Transfer-Encoding: chunked\r\n"...)
	if len(u.trailers) > 0 {
		b = append(b, "Trailer: "...)
		b = append(b, strings.Join(slices.Sorted(maps.Keys(u.trailers)), ", ")...)
		b = append(b, "\r\n"...)
	}
	return b
}

// settle limits how long the rest of the request may take after the whole answer has arrived.
const settle = 10 * time.Millisecond

// overBeside is over for uploads. The connection may be used again if the request was written
// whole; after the answer it waits at most 10 ms for that. The writer has ended when it
// returns. A fault of the body itself, and one of writing that explains a missing answer, is
// returned instead of that of reading; after a whole answer no error of writing is returned.
func (q *call) overBeside(cn *conn.Conn) (again bool, err error) {
	u := q.upload
	if err := u.open(); err != nil {
		return false, err
	}
	u.start(cn, q.appendRequest(nil))
	again, err = q.receive(cn)
	if err != nil {
		if u.ended.Swap(true) {
			return false, <-u.sent
		}
		cn.Abort()
		u.stop()
		if werr := <-u.sent; werr != nil {
			if class := conn.Classify(werr); class != conn.Canceled && class != conn.Other {
				err = werr
			}
		}
		return false, err
	}
	timer := time.NewTimer(settle)
	defer timer.Stop()
	select {
	case err = <-u.sent:
	case <-timer.C:
		u.ended.Store(true)
		cn.StopWriting()
		u.stop()
		err = <-u.sent
	}
	return again && err == nil, nil
}

// start starts to write head and body in a goroutine that sends its result to sent, once, and
// closes the body. It ends at the latest when the connection is closed and the body's Read
// returns. On a fault of the body itself it aborts the connection. Call open before.
func (u *upload) start(cn *conn.Conn, head []byte) {
	body := u.opened
	u.opened, u.sent, u.go100, u.shut = nil, make(chan error, 1), nil, func() {}
	u.ended.Store(false)
	if body != nil {
		u.shut = sync.OnceFunc(func() { body.Close() })
	}
	if u.wait > 0 {
		u.go100 = make(chan bool, 1)
	}
	go func() {
		err := u.write(cn, head, body)
		if _, own := errors.AsType[bodyError](err); own && !u.ended.Swap(true) {
			cn.Abort() // otherwise the wait for an answer would not end
		}
		u.shut()
		u.sent <- err
	}()
}

// write writes head and body. A body that waits for the server to accept it is written then,
// or when u.wait has passed. The error is that of writing, a bodyError, or errNotSent for a
// body that the server does not accept; a part may have been written then. It does not close
// body. start calls it.
func (u *upload) write(cn *conn.Conn, head []byte, body io.Reader) error {
	if u.go100 == nil && body == nil && u.size >= 0 {
		return cn.WriteParts(net.Buffers{head, u.data})
	}
	if err := cn.WriteParts(net.Buffers{head}); err != nil {
		return err
	}
	if u.go100 != nil {
		if err := permitted(u.go100, u.wait); err != nil {
			return err
		}
	}
	switch {
	case u.size >= 0 && body == nil:
		return cn.WriteParts(net.Buffers{u.data})
	case u.size >= 0:
		return writeSized(cn, body, u.size)
	case body == nil:
		body = bytes.NewReader(u.data)
	}
	if err := writeChunks(cn, body); err != nil {
		return err
	}
	return writeEnd(cn, u.trailers)
}

// permitted waits until the server accepts the body, or until wait has passed: the server may
// not support waiting (RFC 9110, section 10.1.1). It returns errNotSent if ask receives false.
func permitted(ask <-chan bool, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case yes := <-ask:
		if !yes {
			return errNotSent
		}
	case <-timer.C:
	}
	return nil
}

// proceed notifies a waiting body whether the server accepts it. Only the first call has an
// effect; it does not wait. Call it after start.
func (u *upload) proceed(yes bool) {
	if u.go100 == nil {
		return
	}
	select {
	case u.go100 <- yes:
	default: // already notified
	}
}

// stop ends waits of the writer other than for the connection: it closes the source. Call it
// after start.
func (u *upload) stop() {
	u.proceed(false)
	u.shut()
}

// pieceSize is how many bytes of a body that is not in memory are read and sent at once.
const pieceSize = 64 << 10

var pieces = sync.Pool{New: func() any { b := make([]byte, pieceSize); return &b }}

// bodyError is an error of the body itself, found while it was sent. It hides the class that
// the error would have on a connection.
type bodyError struct{ text string }

func (e bodyError) Error() string { return "send the body: " + e.text }

// writeSized writes the first size bytes of body. It returns a bodyError if body has fewer or
// fails, or the error of writing.
func writeSized(cn *conn.Conn, body io.Reader, size int64) error {
	piece := pieces.Get().(*[]byte)
	defer pieces.Put(piece)
	for left := size; left > 0; {
		n, err := readSome(body, (*piece)[:min(left, pieceSize)])
		if left -= int64(n); n > 0 {
			if err := cn.WriteParts(net.Buffers{(*piece)[:n]}); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF && left > 0:
			return bodyError{fmt.Sprintf("it ended %d bytes before the size that its Source returned", left)}
		case err != nil && err != io.EOF:
			return bodyError{err.Error()}
		}
	}
	return nil
}

// writeChunks writes all of body in chunks, without the last, empty one. It returns a
// bodyError if body fails, or the error of writing.
func writeChunks(cn *conn.Conn, body io.Reader) error {
	piece := pieces.Get().(*[]byte)
	defer pieces.Put(piece)
	for {
		n, err := readSome(body, *piece)
		if n > 0 {
			size := strconv.AppendInt(nil, int64(n), 16)
			if err := cn.WriteParts(net.Buffers{append(size, "\r\n"...), (*piece)[:n], []byte("\r\n")}); err != nil {
				return err
			}
		}
		switch err {
		case nil:
		case io.EOF:
			return nil
		default:
			return bodyError{err.Error()}
		}
	}
}

// writeEnd writes the last chunk and the trailers, sorted, with their current values. A wrong
// trailer is a bodyError.
func writeEnd(cn *conn.Conn, trailers map[string]string) error {
	b := []byte("0\r\n")
	for _, name := range slices.Sorted(maps.Keys(trailers)) {
		value := trailers[name]
		if err := checkTrailer(name, value); err != nil {
			return bodyError{err.Error()}
		}
		b = append(b, name...)
		b = append(b, ": "...)
		b = append(b, value...)
		b = append(b, "\r\n"...)
	}
	return cn.WriteParts(net.Buffers{append(b, "\r\n"...)})
}

// readSome reads at least one byte or returns an error: io.ErrNoProgress after 100 empty
// reads. It may return both.
func readSome(r io.Reader, p []byte) (int, error) {
	for range 100 {
		if n, err := r.Read(p); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}
