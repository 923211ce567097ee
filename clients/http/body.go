package http

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/gobench-io/gobench/internal/load/conn"
)

var (
	errCut      = &conn.Error{Class: conn.EOF, Err: errors.New("connection closed within the answer")}
	errSilent   = &conn.Error{Class: conn.EOF, Err: errors.New("connection closed without an answer")}
	errTooLarge = &conn.Error{Class: conn.TooLarge, Err: errors.New("body larger than Options.MaxBody")}

	errChunk     = malformed("bad chunk size")
	errChunkLine = malformed("chunk size line longer than 4 KiB")
	errChunkEnd  = malformed("chunk longer than its size")
	errTrailer   = malformed("bad trailer line")
	errTrailers  = malformed("trailers larger than 64 KiB")
)

const (
	maxChunkLine = 4 << 10
	maxTrailers  = 64 << 10
	// firstBody limits the buffer that is allocated for a body before its first byte arrives:
	// the announced length may be wrong.
	firstBody = 1 << 20
)

// body reads one body from a connection, and stores or discards it. It is for one goroutine.
// Its methods return errTooLarge for more than max bytes of a stored body, errCut if the
// connection ended, a malformed error, or that of reading. After an error the connection can
// only be dropped.
type body struct {
	cn   *conn.Conn
	keep bool
	max  int64  // limit on a stored body
	data []byte // the stored body

	keepTrailers bool
	ends         []byte        // the trailers, as whole lines, if they are stored
	look         *look         // copies what is read, for samples and watchers; nil: not needed
	waited       time.Duration // when it first had to wait for more data, on the clock of conn.Now; 0: never
}

// sized reads n bytes; in a chunk they follow those of the chunks before. If they are to be
// stored and exceed max, it fails before it reads any of them.
func (b *body) sized(n int64) error {
	if b.keep {
		if n > b.max-int64(len(b.data)) {
			return errTooLarge
		}
		return b.take(n)
	}
	for {
		have := int64(len(b.cn.Unread()))
		if have >= n {
			b.look.see(b.cn.Unread()[:n])
			b.cn.Take(int(n))
			return nil
		}
		b.look.see(b.cn.Unread())
		b.cn.Take(int(have))
		n -= have
		if err := b.more(); err != nil {
			return err
		}
	}
}

// take appends n bytes to the stored body: unread ones first, the rest straight from the
// connection, for which it waits. n must not exceed max. After an error some may be appended.
func (b *body) take(n int64) error {
	if b.data == nil {
		b.data = make([]byte, 0, min(n, firstBody))
	}
	for n > 0 {
		if len(b.data) == cap(b.data) {
			b.data = slices.Grow(b.data, int(min(n, int64(len(b.data)))))
		}
		if len(b.cn.Unread()) == 0 {
			b.waits()
		}
		free := b.data[len(b.data):cap(b.data)]
		got, err := b.cn.Read(free[:min(n, int64(len(free)))])
		if err != nil {
			return cutShort(err)
		}
		b.look.see(free[:got])
		b.data = b.data[:len(b.data)+got]
		n -= int64(got)
	}
	return nil
}

// untilClose reads until the other side closes the connection, which ends the body.
func (b *body) untilClose() error {
	for {
		if have := b.cn.Unread(); len(have) > 0 {
			if b.keep {
				if int64(len(have)) > b.max-int64(len(b.data)) {
					return errTooLarge
				}
				b.data = append(b.data, have...)
			}
			b.look.see(have)
			b.cn.Take(len(have))
		}
		b.waits()
		if err := b.cn.Fill(); err == io.EOF {
			return nil
		} else if err != nil {
			return cutShort(err)
		}
	}
}

// chunked reads chunks and trailers (RFC 9112, section 7.1), of which it stores the trailers
// if keepTrailers is set. Extensions are ignored. Lines must end with CR LF.
func (b *body) chunked() error {
	for {
		line, err := b.line(maxChunkLine, errChunk, errChunkLine)
		if err != nil {
			return err
		}
		size, err := chunkSize(line)
		if err != nil {
			return err
		}
		b.cn.Take(len(line))
		if size == 0 {
			return b.trailers()
		}
		if err := b.sized(size); err != nil {
			return err
		}
		for len(b.cn.Unread()) < 2 {
			if err := b.more(); err != nil {
				return err
			}
		}
		if u := b.cn.Unread(); u[0] != '\r' || u[1] != '\n' {
			return errChunkEnd
		}
		b.cn.Take(2)
	}
}

// chunkSize returns the size in a line such as "1a3f;name=value\r\n", which must end so. It
// returns errChunk if the size is malformed or has more than 15 digits.
func chunkSize(line []byte) (int64, error) {
	line = line[:len(line)-2]
	size, i := int64(0), 0
	for ; i < len(line); i++ {
		d := hexDigit(line[i])
		if d < 0 {
			break
		}
		if i == 15 { // 15 digits fit an int64
			return 0, errChunk
		}
		size = size<<4 | int64(d)
	}
	rest := trim(line[i:])
	if i == 0 || len(rest) > 0 && rest[0] != ';' || bytes.IndexByte(rest, '\r') >= 0 || bytes.IndexByte(rest, 0) >= 0 {
		return 0, errChunk
	}
	return size, nil
}

// hexDigit returns the value of a hexadecimal digit; -1 for another byte.
func hexDigit(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// trailers reads the lines after the last chunk, up to the blank one: at most 64 KiB. It
// stores them, without the blank one, in ends if keepTrailers is set.
func (b *body) trailers() error {
	for left := maxTrailers; ; {
		line, err := b.line(left, errTrailer, errTrailers)
		if err != nil {
			return err
		}
		left -= len(line)
		text := line[:len(line)-2]
		name, _, found := bytes.Cut(text, []byte{':'})
		last := len(text) == 0
		if !last && (!found || !isName(name) || bytes.IndexByte(text, '\r') >= 0 || bytes.IndexByte(text, 0) >= 0) {
			return errTrailer
		}
		if b.keepTrailers && !last {
			b.ends = append(b.ends, line...)
		}
		b.cn.Take(len(line))
		if last {
			return nil
		}
	}
}

// line waits for a whole line of at most max bytes, and returns it with its CR LF. The line
// stays unread, and is valid until it is taken. line returns bad if the line ends without CR,
// and tooLong if it does not end within max bytes.
func (b *body) line(max int, bad, tooLong error) ([]byte, error) {
	for {
		have := b.cn.Unread()
		i := bytes.IndexByte(have[:min(len(have), max)], '\n')
		switch {
		case i > 0 && have[i-1] == '\r':
			return have[:i+1], nil
		case i >= 0:
			return nil, bad
		case len(have) >= max:
			return nil, tooLong
		}
		if err := b.more(); err != nil {
			return nil, err
		}
	}
}

// more waits for more bytes; the error is that of cutShort.
func (b *body) more() error {
	b.waits()
	if err := b.cn.Fill(); err != nil {
		return cutShort(err)
	}
	return nil
}

// waits records the first time that the body has to wait: the first bytes of the answer have
// just arrived.
func (b *body) waits() {
	if b.waited == 0 {
		b.waited = conn.Now()
	}
}

// cutShort returns errCut for io.EOF and io.ErrUnexpectedEOF, with which a connection ends
// within an answer, and any other error unchanged.
func cutShort(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errCut
	}
	return err
}

// isName reports whether name can be a method or the name of a header: a token (RFC 9110,
// section 5.6.2).
func isName[T []byte | string](name T) bool {
	for i := range len(name) {
		if !isToken[name[i]] {
			return false
		}
	}
	return len(name) > 0
}
