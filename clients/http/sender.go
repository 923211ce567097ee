package http

import (
	"bytes"
	"fmt"
	"io"
	nethttp "net/http"
	"sync"
	"sync/atomic"
)

// sender is a request's body as net/http reads it for HTTP/2, in a goroutine that may outlive
// the call. After finish it does not use the caller's values. It corresponds to upload for
// HTTP/1.1.
type sender struct {
	source   io.Closer // nil: the body is in memory
	trailers map[string]string
	trailer  nethttp.Header // the trailers that are announced and then sent
	ended    atomic.Bool
	once     sync.Once // for closing source

	mu    sync.Mutex // held while the body is read
	from  io.Reader
	left  int64 // bytes to send; -1 if unknown
	wrong error // an error of the body itself
}

// newSender returns the sender of q's body, nil if it has none. The source of an upload must
// be open; the sender takes it over and closes it.
func newSender(q *call) *sender {
	u := q.upload
	if u == nil {
		if !q.request.hasLength() {
			return nil
		}
		return &sender{from: bytes.NewReader(q.request.Body), left: int64(len(q.request.Body))}
	}
	s := &sender{from: bytes.NewReader(u.data), left: u.size, trailers: u.trailers}
	if u.opened != nil {
		s.from, s.source, u.opened = u.opened, u.opened, nil
	}
	if len(u.trailers) > 0 {
		s.trailer = nethttp.Header{}
		for name := range u.trailers {
			s.trailer[name] = nil
		}
	}
	return s
}

// Read is called by one goroutine at a time. It returns errNotSent after Close, and a
// bodyError, which fault returns too, if the source fails, is shorter than its size, or has
// wrong trailers.
func (s *sender) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended.Load():
		return 0, errNotSent
	case s.left == 0:
		return 0, io.EOF
	case s.left > 0:
		p = p[:min(s.left, int64(len(p)))]
	}
	n, err := readSome(s.from, p)
	if s.left > 0 {
		s.left -= int64(n)
	}
	switch {
	case s.ended.Load(): // the error is a result of closing the source
		return n, errNotSent
	case s.left == 0:
		return n, io.EOF
	case err == io.EOF && s.left > 0:
		s.wrong = bodyError{fmt.Sprintf("it ended %d bytes before the size that its Source returned", s.left)}
	case err == io.EOF:
		s.wrong = s.end()
	case err != nil:
		s.wrong = bodyError{err.Error()}
	}
	if s.wrong != nil {
		return n, s.wrong
	}
	return n, err
}

// end sets the trailers to their current values. A wrong one is a bodyError.
func (s *sender) end() error {
	for name, value := range s.trailers {
		if err := checkTrailer(name, value); err != nil {
			return bodyError{err.Error()}
		}
		s.trailer[name] = []string{value}
	}
	return nil
}

// Close closes the source, once, and makes later Reads fail. It may be called at any time,
// also during a Read, and more than once. It returns nil.
func (s *sender) Close() error {
	s.ended.Store(true)
	s.once.Do(func() {
		if s.source != nil {
			s.source.Close()
		}
	})
	return nil
}

// finish ends sending, and a pending Read of the source, for which it waits. It may be called
// on nil.
func (s *sender) finish() {
	if s == nil {
		return
	}
	s.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from = nil
}

// fault returns the error of the body itself, or nil. It may be called only after finish, also
// on nil.
func (s *sender) fault() error {
	if s == nil {
		return nil
	}
	return s.wrong
}
