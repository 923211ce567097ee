package conn

import (
	"errors"
	"sync"
)

const (
	// bufferSize is the size of one read: that of a TLS record. There are few buffers
	// (one for each active reader), so they may be large.
	bufferSize = 16 << 10
	// MaxUnread is the largest number of unread bytes of a connection.
	MaxUnread = 64 << 10
)

// ErrFull is returned by Fill if MaxUnread bytes are unread: a line or head that should
// have ended did not.
var ErrFull = errors.New("64 KiB came without an end")

// buffer holds bytes between their arrival and their use: data[r:w].
type buffer struct {
	data []byte
	r, w int
}

var buffers = sync.Pool{New: func() any { return &buffer{data: make([]byte, bufferSize)} }}

func newBuffer() *buffer { return buffers.Get().(*buffer) }

// free returns b to the pool; b must not be used afterwards. A buffer that has grown is left
// to the garbage collector.
func (b *buffer) free() {
	if len(b.data) != bufferSize {
		return
	}
	b.r, b.w = 0, 0
	buffers.Put(b)
}

// room makes room for at least one more byte; slices of data become invalid. It returns false
// if the buffer holds MaxUnread bytes.
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
