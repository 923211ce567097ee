package http

import (
	"fmt"
	"io"
	"os"
)

// Source is a request's body that is not held in memory.
type Source interface {
	// Open returns the body from its start, and its length in bytes. Exactly that many bytes
	// are sent; a length of -1 means unknown, and the body is sent in chunks. Open is called
	// each time the request is sent: again after a redirect that keeps the body, and when an
	// idle connection turned out to be closed. If users share a Source, Open must be safe for
	// concurrent use.
	//
	// The client reads the body in its own goroutine. It closes the body when the answer is
	// complete or the call fails, possibly during a Read; the call does not return before that
	// Read does.
	Open() (body io.ReadCloser, size int64, err error)
}

// File returns the Source of a regular file, which is opened each time it is sent. A file that
// is missing or not regular makes the call fail. It is safe for concurrent use.
func File(path string) Source { return file(path) }

type file string

// Open opens the file and returns its length, or an error if it is missing or not regular. The
// caller closes it.
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

// Stream returns a Source whose bodies are opened by open. Their length is unknown, so they are
// sent in chunks. Open must be safe for concurrent use if users share the Source.
func Stream(open func() (io.ReadCloser, error)) Source { return stream(open) }

type stream func() (io.ReadCloser, error)

// Open calls s and returns -1 for the length.
func (s stream) Open() (io.ReadCloser, int64, error) {
	r, err := s()
	return r, -1, err
}
