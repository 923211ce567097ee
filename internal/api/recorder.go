package api

import (
	"net/http"
	"time"
)

// recorder records the status and size of an answer: status is 0 until it begins. A write
// fails if the client does not read for wait. Like all response writers it must not be used
// concurrently.
type recorder struct {
	http.ResponseWriter
	control *http.ResponseController
	status  int
	bytes   int64
	copy    func([]byte)  // receives the body too, if set
	wait    time.Duration // for the client to read one write
}

func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader records the first status and sets the deadline of the write.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
		r.deadline()
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) deadline() {
	_ = r.control.SetWriteDeadline(time.Now().Add(r.wait))
}

// Write writes b, with status 200 if the answer has not begun, and passes b to copy.
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	r.deadline()
	if r.copy != nil {
		r.copy(b)
	}
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

// statusOnly is a response writer that stores the status and discards the body.
type statusOnly struct {
	header http.Header
	status int
}

// Header returns the headers, which the first call creates.
func (s *statusOnly) Header() http.Header {
	if s.header == nil {
		s.header = http.Header{}
	}
	return s.header
}

func (s *statusOnly) WriteHeader(status int) { s.status = status }

func (s *statusOnly) Write(b []byte) (int, error) { return len(b), nil }
