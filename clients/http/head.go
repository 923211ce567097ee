package http

import (
	"bytes"
	"errors"

	"github.com/gobench-io/gobench/internal/load/conn"
)

// head is the start of a response, from the status line to the blank line, parsed from a buffer
// that may not hold all of it yet (RFC 9112, sections 4 and 5). It does not refer to the buffer
// and does not allocate.
type head struct {
	size   int   // bytes parsed so far; at the end, the length of the head
	lines  int   // lines parsed so far
	crs    int   // number of these lines that end with CR LF and not just LF
	status int   // three digits
	length int64 // of Content-Length; -1 if missing
	minor  byte  // of the version: 0 is HTTP/1.0, anything else is treated as HTTP/1.1

	chunked   bool // Transfer-Encoding: chunked
	close     bool // Connection: close
	keepAlive bool // Connection: keep-alive
}

// malformed returns an error of class Protocol for an answer that violates HTTP.
func malformed(text string) error {
	return &conn.Error{Class: conn.Protocol, Err: errors.New("malformed answer: " + text)}
}

var (
	errNotHTTP   = malformed("not HTTP/1")
	errStatus    = malformed("bad status line")
	errField     = malformed("bad header line")
	errFold      = malformed("folded header line")
	errControl   = malformed("control character in the head")
	errHeadSize  = malformed("head larger than 64 KiB")
	errLength    = malformed("bad Content-Length")
	errLengths   = malformed("two different Content-Length")
	errBoth      = malformed("both Content-Length and Transfer-Encoding")
	errCoding    = malformed("transfer coding other than chunked")
	errCoding10  = malformed("transfer coding in HTTP/1.0")
	errInterim   = malformed("interim answers larger than 64 KiB")
	errSwitching = malformed("101 without being asked to switch protocols")
)

// parse parses the lines of b from where it stopped the last time, and reports whether the
// head is complete. If it is not, the caller calls parse again with more bytes: at each call b
// begins with the head's first byte. After an error, of class Protocol, h must not be used. A
// line may end with LF without CR (RFC 9112, section 2.2); a CR anywhere else, a folded line
// and a space before a colon are errors.
func (h *head) parse(b []byte) (done bool, err error) {
	for {
		i := bytes.IndexByte(b[h.size:], '\n')
		if i < 0 {
			if h.lines == 0 && !bytes.HasPrefix(b, http1) && !bytes.HasPrefix(http1, b) {
				return false, errNotHTTP // don't wait for a line end that may never arrive
			}
			return false, nil
		}
		line := b[h.size : h.size+i]
		h.size += i + 1
		if i > 0 && line[i-1] == '\r' {
			line = line[:i-1]
			h.crs++
		}
		h.lines++
		switch {
		case h.lines == 1:
			h.length = -1
			err = h.statusLine(line)
		case len(line) == 0:
			return true, h.check(b[:h.size])
		default:
			err = h.field(line)
		}
		if err != nil {
			return false, err
		}
	}
}

var http1 = []byte("HTTP/1.")

// statusLine parses "HTTP/1.1 200 OK", without its line end, and stores status and version;
// h.status must be 0. The reason, and the space before it, may be missing. It returns
// errNotHTTP or errStatus.
func (h *head) statusLine(b []byte) error {
	if !bytes.HasPrefix(b, http1) {
		return errNotHTTP
	}
	if len(b) < len("HTTP/1.1 200") || !isDigit(b[7]) || b[8] != ' ' {
		return errStatus
	}
	if len(b) > 12 && b[12] != ' ' {
		return errStatus
	}
	for _, d := range b[9:12] {
		if !isDigit(d) {
			return errStatus
		}
		h.status = 10*h.status + int(d-'0')
	}
	if h.status < 100 {
		return errStatus
	}
	h.minor = b[7] - '0'
	return nil
}

// field parses "Name: value", without its line end and not empty, and stores the values that
// determine the end of the message. Other headers are only checked for a name and a colon. The
// errors are errField, errFold, and those of a wrong Content-Length or Transfer-Encoding.
func (h *head) field(b []byte) error {
	n := 0
	for n < len(b) && isToken[b[n]] {
		n++
	}
	if n == 0 || n == len(b) || b[n] != ':' {
		if n == 0 && (b[0] == ' ' || b[0] == '\t') {
			return errFold
		}
		return errField
	}
	switch n {
	case len("connection"):
		if foldEqual(b[:n], "connection") {
			h.connection(b[n+1:])
		}
	case len("content-length"):
		if foldEqual(b[:n], "content-length") {
			return h.contentLength(b[n+1:])
		}
	case len("transfer-encoding"):
		if foldEqual(b[:n], "transfer-encoding") {
			if h.chunked || !foldEqual(trim(b[n+1:]), "chunked") {
				return errCoding
			}
			h.chunked = true
		}
	}
	return nil
}

// connection parses a list of options and stores whether it has close or keep-alive; others
// are ignored.
func (h *head) connection(list []byte) {
	for len(list) > 0 {
		var option []byte
		option, list, _ = bytes.Cut(list, []byte{','})
		option = trim(option)
		h.close = h.close || foldEqual(option, "close")
		h.keepAlive = h.keepAlive || foldEqual(option, "keep-alive")
	}
}

// contentLength parses one number, or a list that repeats the same number (RFC 9110, section
// 8.6). h.length is -1 before the first. It returns errLength for a number that is not of 1 to
// 18 digits, and errLengths for one that differs from that of an earlier header.
func (h *head) contentLength(list []byte) error {
	for more := true; more; {
		var number []byte
		number, list, more = bytes.Cut(list, []byte{','})
		number = trim(number)
		if len(number) == 0 || len(number) > 18 { // 18 digits fit an int64
			return errLength
		}
		n := int64(0)
		for _, d := range number {
			if !isDigit(d) {
				return errLength
			}
			n = 10*n + int64(d-'0')
		}
		if h.length >= 0 && h.length != n {
			return errLengths
		}
		h.length = n
	}
	return nil
}

// check validates the head as a whole; b is all of it. It returns an error for a NUL or a CR
// within a line, for chunks in HTTP/1.0 or beside a Content-Length, and for a status 101.
func (h *head) check(b []byte) error {
	switch {
	case bytes.IndexByte(b, 0) >= 0, bytes.Count(b, cr) != h.crs:
		return errControl
	case h.chunked && h.length >= 0:
		return errBoth // RFC 9112, section 6.3: it may be an attempt at request smuggling
	case h.chunked && h.minor == 0:
		return errCoding10
	case h.status == 101:
		return errSwitching
	}
	return nil
}

var cr = []byte{'\r'}

// lasts reports whether the connection may be used again after this answer.
func (h *head) lasts() bool {
	return !h.close && (h.minor > 0 || h.keepAlive)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isToken has the characters of names (RFC 9110, section 5.6.2).
var isToken = func() (is [256]bool) {
	for c := range is {
		is[c] = '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' ||
			bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), byte(c)) >= 0
	}
	return is
}()

// foldEqual reports whether b equals word, ignoring b's case. The word must be in lower case.
func foldEqual[T []byte | string](b T, word string) bool {
	if len(b) != len(word) {
		return false
	}
	for i := range len(word) {
		c := b[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

// trim removes spaces and tabs, the only white space in a header, from both ends.
func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for n := len(b); n > 0 && (b[n-1] == ' ' || b[n-1] == '\t'); n-- {
		b = b[:n-1]
	}
	return b
}
