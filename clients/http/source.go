package http

import (
	"fmt"
	"io"
	"os"
)

// Source is a request's body that is not held in memory.
type Source interface {
	// Open gives the body from its start, and its length in bytes, which is then what
	// is sent of it; -1: it is not known, and the body is sent in chunks. It is called
	// each time the request is sent: once more after a redirect that keeps the body,
	// and when an idle connection turned out to be closed. A Source that many users
	// share must take calls at the same time.
	//
	// The body is read in a goroutine of the client's. It is closed when the answer
	// is complete or the call fails, which may be within a Read; the call does not
	// return before that Read does.
	Open() (body io.ReadCloser, size int64, err error)
}

// File is the Source of a regular file, opened each time it is sent.
func File(path string) Source { return file(path) }

type file string

func (f file) Open() (io.ReadCloser, int64, error) {
	r, err := os.Open(string(f))
	if err != nil {
		return nil, 0, err
	}
	info, err := r.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file: use Stream", f)
	}
	if err != nil {
		r.Close()
		return nil, 0, err
	}
	return r, info.Size(), nil
}

// Stream is the Source of whatever open gives, of unknown length, sent in chunks.
func Stream(open func() (io.ReadCloser, error)) Source { return stream(open) }

type stream func() (io.ReadCloser, error)

func (s stream) Open() (io.ReadCloser, int64, error) {
	r, err := s()
	return r, -1, err
}
