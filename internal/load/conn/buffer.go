package conn

import (
	"errors"
	"sync"
)

const (
	// bufferSize is what one read can bring: a TLS record's worth. Buffers are
	// few (one a running reader), so they may be large.
	bufferSize = 16 << 10
	// MaxUnread bounds what a connection may hold unread.
	MaxUnread = 64 << 10
)

// ErrFull means that a connection holds MaxUnread bytes that nobody takes: what
// came has no end where it should have one.
var ErrFull = errors.New("64 KiB came without an end")

// buffer holds bytes between their arrival and their use: data[r:w].
type buffer struct {
	data []byte
	r, w int
}

var buffers = sync.Pool{New: func() any { return &buffer{data: make([]byte, bufferSize)} }}

func newBuffer() *buffer { return buffers.Get().(*buffer) }

// free gives the buffer back. One that had to grow is left to the collector.
func (b *buffer) free() {
	if len(b.data) != bufferSize {
		return
	}
	b.r, b.w = 0, 0
	buffers.Put(b)
}

// room makes place for at least one more byte, and reports false when the buffer
// holds MaxUnread.
func (b *buffer) room() bool {
	if b.w < len(b.data) {
		return true
	}
	if b.r > 0 {
		b.w = copy(b.data, b.data[b.r:b.w])
		b.r = 0
		return true
	}
	if len(b.data) >= MaxUnread {
		return false
	}
	data := make([]byte, 2*len(b.data))
	b.w = copy(data, b.data[:b.w])
	b.data = data
	return true
}
