package http

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/load/conn"
)

// replay is a connection that receives parts, each in its own read, and then the end.
type replay struct {
	net.Conn
	parts []string
	end   error
}

func (r *replay) Read(p []byte) (int, error) {
	for len(r.parts) > 0 && r.parts[0] == "" {
		r.parts = r.parts[1:]
	}
	if len(r.parts) == 0 {
		return 0, r.end
	}
	n := copy(p, r.parts[0])
	r.parts[0] = r.parts[0][n:]
	return n, nil
}

func (r *replay) RemoteAddr() net.Addr          { return &net.TCPAddr{} }
func (r *replay) Close() error                  { return nil }
func (r *replay) SetDeadline(t time.Time) error { return nil }
func (r *replay) Write(p []byte) (int, error)   { return len(p), nil }

// answer is the result of receive for the parts of an answer.
type answer struct {
	status int
	body   string
	again  bool
	err    error
}

func receive(q *call, parts ...string) answer {
	cn := conn.New(&replay{parts: parts, end: io.EOF})
	again, err := q.receive(cn)
	cn.Drop()
	return answer{q.status, string(q.body), again, err}
}

func get(parts ...string) answer {
	return receive(&call{request: Request{Method: "GET"}, maxBody: 1 << 20}, parts...)
}

func lines(l ...string) string { return strings.Join(l, "\r\n") }

// Every row is read in one piece, in two pieces cut at each byte, and byte by byte.
var answers = []struct {
	name   string
	method string
	bytes  string
	want   answer
}{
	{"length", "GET", lines("HTTP/1.1 200 OK", "Content-Length: 5", "", "hello"), answer{200, "hello", true, nil}},
	{"no body", "GET", lines("HTTP/1.1 200 OK", "Content-Length: 0", "", ""), answer{200, "", true, nil}},
	{"no reason", "GET", lines("HTTP/1.1 404", "Content-Length: 0", "", ""), answer{404, "", true, nil}},
	{"empty reason", "GET", lines("HTTP/1.1 404 ", "Content-Length: 0", "", ""), answer{404, "", true, nil}},
	{"odd status", "GET", lines("HTTP/1.1 999 What", "Content-Length: 0", "", ""), answer{999, "", true, nil}},
	{"names in any case", "GET", lines("HTTP/1.1 200 OK", "cOnTeNt-lEnGtH:5", "", "hello"), answer{200, "hello", true, nil}},
	{"space around values", "GET", lines("HTTP/1.1 200 OK", "Content-Length: \t 5 \t", "", "hello"), answer{200, "hello", true, nil}},
	{"the same length twice", "GET", lines("HTTP/1.1 200 OK", "Content-Length: 5, 5", "Content-Length: 5", "", "hello"), answer{200, "hello", true, nil}},
	{"lines that end with LF", "GET", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", answer{200, "hello", true, nil}},
	{"empty values", "GET", lines("HTTP/1.1 200 OK", "X:", "Connection:", "Content-Length: 0", "", ""), answer{200, "", true, nil}},

	{"connection closes", "GET", lines("HTTP/1.1 200 OK", "Connection: Close", "Content-Length: 5", "", "hello"), answer{200, "hello", false, nil}},
	{"in a list", "GET", lines("HTTP/1.1 200 OK", "Connection: upgrade, close ,x", "Content-Length: 0", "", ""), answer{200, "", false, nil}},
	{"HTTP/1.0", "GET", lines("HTTP/1.0 200 OK", "Content-Length: 5", "", "hello"), answer{200, "hello", false, nil}},
	{"HTTP/1.0 keeps alive", "GET", lines("HTTP/1.0 200 OK", "Connection: keep-alive", "Content-Length: 5", "", "hello"), answer{200, "hello", true, nil}},
	{"HTTP/1.2", "GET", lines("HTTP/1.2 200 OK", "Content-Length: 5", "", "hello"), answer{200, "hello", true, nil}},
	{"until close", "GET", lines("HTTP/1.1 200 OK", "", "hello"), answer{200, "hello", false, nil}},
	{"until close, empty", "GET", lines("HTTP/1.1 200 OK", "", ""), answer{200, "", false, nil}},
	{"bytes after the answer", "GET", lines("HTTP/1.1 200 OK", "Content-Length: 5", "", "hello, world"), answer{200, "hello", false, nil}},

	{"chunked", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "5", "hello", "7", ", world", "0", "", ""), answer{200, "hello, world", true, nil}},
	{"chunked, empty", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: Chunked", "", "0", "", ""), answer{200, "", true, nil}},
	{"chunk sizes in any case, with zeros", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "00A", "0123456789", "0000b", "0123456789-", "000", "", ""), answer{200, "01234567890123456789-", true, nil}},
	{"chunk extensions", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "5;a=b;c=\"d\"", "hello", "0 ; last", "", ""), answer{200, "hello", true, nil}},
	{"trailers", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "5", "hello", "0", "Digest: 1", "X: 2", "", ""), answer{200, "hello", true, nil}},
	{"a line end in a chunk", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "4", "a\r\nb", "0", "", ""), answer{200, "a\r\nb", true, nil}},

	{"interim answers", "GET", lines("HTTP/1.1 100 Continue", "", "HTTP/1.1 103 Early Hints", "Link: </a>", "", "HTTP/1.1 200 OK", "Content-Length: 5", "", "hello"), answer{200, "hello", true, nil}},
	{"204", "GET", lines("HTTP/1.1 204 No Content", "", ""), answer{204, "", true, nil}},
	{"204 with a length", "GET", lines("HTTP/1.1 204 No Content", "Content-Length: 5", "", ""), answer{204, "", true, nil}},
	{"304", "GET", lines("HTTP/1.1 304 Not Modified", "Content-Length: 5", "", ""), answer{304, "", true, nil}},
	{"HEAD", "HEAD", lines("HTTP/1.1 200 OK", "Content-Length: 5", "", ""), answer{200, "", true, nil}},
	{"HEAD of chunks", "HEAD", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", ""), answer{200, "", true, nil}},
	{"HEAD without a length", "HEAD", lines("HTTP/1.1 200 OK", "", ""), answer{200, "", true, nil}},

	{"nothing", "GET", "", answer{err: errSilent}},
	{"cut in the status line", "GET", "HTTP/1.1 20", answer{err: errCut}},
	{"cut in the head", "GET", "HTTP/1.1 200 OK\r\nContent-Le", answer{err: errCut}},
	{"cut in the body", "GET", lines("HTTP/1.1 200 OK", "Content-Length: 5", "", "hell"), answer{err: errCut}},
	{"cut in a chunk's size", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "5"), answer{err: errCut}},
	{"cut in a chunk", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "5", "hel"), answer{err: errCut}},
	{"cut after a chunk", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "5", "hello"), answer{err: errCut}},
	{"cut before the last chunk", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "5", "hello", ""), answer{err: errCut}},
	{"cut in the trailers", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "0", "X: 1", ""), answer{err: errCut}},
	{"cut after an interim answer", "GET", lines("HTTP/1.1 100 Continue", "", ""), answer{err: errSilent}},

	{"garbage", "GET", "garbage", answer{err: errNotHTTP}},
	{"garbage that could begin an answer", "GET", "HTTQ", answer{err: errNotHTTP}},
	{"HTTP/2", "GET", lines("HTTP/2.0 200 OK", "", ""), answer{err: errNotHTTP}},
	{"a blank line first", "GET", lines("", "HTTP/1.1 200 OK", "", ""), answer{err: errNotHTTP}},
	{"lower case", "GET", lines("http/1.1 200 OK", "", ""), answer{err: errNotHTTP}},
	{"version without a digit", "GET", lines("HTTP/1.x 200 OK", "", ""), answer{err: errStatus}},
	{"status of two digits", "GET", lines("HTTP/1.1 20 OK", "", ""), answer{err: errStatus}},
	{"status of four digits", "GET", lines("HTTP/1.1 2000 OK", "", ""), answer{err: errStatus}},
	{"status with a letter", "GET", lines("HTTP/1.1 2OO OK", "", ""), answer{err: errStatus}},
	{"status below 100", "GET", lines("HTTP/1.1 099 OK", "", ""), answer{err: errStatus}},
	{"no status", "GET", lines("HTTP/1.1", "", ""), answer{err: errStatus}},
	{"two spaces", "GET", lines("HTTP/1.1  200 OK", "", ""), answer{err: errStatus}},
	{"101", "GET", lines("HTTP/1.1 101 Switching Protocols", "Upgrade: x", "", ""), answer{err: errSwitching}},

	{"no colon", "GET", lines("HTTP/1.1 200 OK", "Content-Length", "", ""), answer{err: errField}},
	{"no name", "GET", lines("HTTP/1.1 200 OK", ": 5", "", ""), answer{err: errField}},
	{"space before the colon", "GET", lines("HTTP/1.1 200 OK", "Content-Length : 5", "", "hello"), answer{err: errField}},
	{"an invalid name", "GET", lines("HTTP/1.1 200 OK", "Content/Length: 5", "", "hello"), answer{err: errField}},
	{"a folded line", "GET", lines("HTTP/1.1 200 OK", "X: 1", "  2", "Content-Length: 0", "", ""), answer{err: errFold}},
	{"a line folded by a tab", "GET", lines("HTTP/1.1 200 OK", "\tX: 1", "", ""), answer{err: errFold}},
	{"CR in a value", "GET", lines("HTTP/1.1 200 OK", "X: 1\rContent-Length: 5", "", ""), answer{err: errControl}},
	{"CR in the reason", "GET", lines("HTTP/1.1 200 O\rK", "", ""), answer{err: errControl}},
	{"two CR", "GET", lines("HTTP/1.1 200 OK\r", "", ""), answer{err: errControl}},
	{"NUL in a value", "GET", lines("HTTP/1.1 200 OK", "X: \x00", "", ""), answer{err: errControl}},

	{"two lengths", "GET", lines("HTTP/1.1 200 OK", "Content-Length: 5", "Content-Length: 6", "", "hello"), answer{err: errLengths}},
	{"two lengths in a list", "GET", lines("HTTP/1.1 200 OK", "Content-Length: 5, 6", "", "hello"), answer{err: errLengths}},
	{"length and chunks", "GET", lines("HTTP/1.1 200 OK", "Content-Length: 5", "Transfer-Encoding: chunked", "", "0", "", ""), answer{err: errBoth}},
	{"chunks and length", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "Content-Length: 5", "", "0", "", ""), answer{err: errBoth}},
	{"negative length", "GET", lines("HTTP/1.1 200 OK", "Content-Length: -5", "", ""), answer{err: errLength}},
	{"signed length", "GET", lines("HTTP/1.1 200 OK", "Content-Length: +5", "", "hello"), answer{err: errLength}},
	{"hexadecimal length", "GET", lines("HTTP/1.1 200 OK", "Content-Length: 0x5", "", "hello"), answer{err: errLength}},
	{"empty length", "GET", lines("HTTP/1.1 200 OK", "Content-Length:", "", ""), answer{err: errLength}},
	{"half a list of lengths", "GET", lines("HTTP/1.1 200 OK", "Content-Length: 5,", "", "hello"), answer{err: errLength}},
	{"length beyond any number", "GET", lines("HTTP/1.1 200 OK", "Content-Length: 9223372036854775808", "", ""), answer{err: errLength}},
	{"length of 18 digits", "GET", lines("HTTP/1.1 200 OK", "Content-Length: 999999999999999999", "", ""), answer{err: errTooLarge}},

	{"other coding", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: gzip", "", ""), answer{err: errCoding}},
	{"list of codings", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: gzip, chunked", "", ""), answer{err: errCoding}},
	{"chunked twice", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked", "", ""), answer{err: errCoding}},
	{"chunks in HTTP/1.0", "GET", lines("HTTP/1.0 200 OK", "Transfer-Encoding: chunked", "", "0", "", ""), answer{err: errCoding10}},
	{"chunk without a size", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "", "hello"), answer{err: errChunk}},
	{"invalid chunk size", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "five", "hello"), answer{err: errChunk}},
	{"signed chunk size", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "+5", "hello"), answer{err: errChunk}},
	{"chunk size with 0x", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "0x5", "hello"), answer{err: errChunk}},
	{"chunk size with spaces", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "5 5", "hello"), answer{err: errChunk}},
	{"chunk size beyond any number", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "ffffffffffffffff", "hello"), answer{err: errChunk}},
	{"chunk size that ends with LF", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n", answer{err: errChunk}},
	{"CR in a chunk extension", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "5;\r;", "hello"), answer{err: errChunk}},
	{"chunk too long", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "4", "hello", "0", "", ""), answer{err: errChunkEnd}},
	{"chunk too short", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "6", "hello", "0", "", ""), answer{err: errChunkEnd}},
	{"invalid trailer", "GET", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "0", "X", "", ""), answer{err: errTrailer}},
	{"trailer that ends with LF", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: 1\n\r\n", answer{err: errTrailer}},
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range answers {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, discard := range []bool{false, true} {
				want := tt.want
				if discard {
					want.body = ""
					if want.err == errTooLarge {
						want.err = errCut
					}
				}
				check := func(how string, at int, parts ...string) {
					q := &call{request: Request{Method: tt.method, Discard: discard}, maxBody: 1 << 20}
					got := receive(q, parts...)
					// Whether bytes after an answer arrive with it is random.
					if how != "whole" && tt.name == "bytes after the answer" {
						got.again = false
					}
					if got != want {
						t.Errorf("%s %d: %+v, want %+v", how, at, got, want)
					}
				}
				check("whole", 0, tt.bytes)
				for i := 1; i < len(tt.bytes); i++ {
					check("cut at", i, tt.bytes[:i], tt.bytes[i:])
				}
				check("byte by byte", 0, strings.Split(tt.bytes, "")...)
			}
		})
	}
}

// Limits are exact: a value at the limit is accepted, one byte more is an error.
func TestAnswerLimits(t *testing.T) {
	t.Parallel()
	const start = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: "
	head := func(size int) string { return start + strings.Repeat("x", size-len(start)-4) + "\r\n\r\n" }
	chunked := lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "")
	extension := func(size int) string { return chunked + "0;" + strings.Repeat("x", size-4) + lines("", "", "") }
	trailers := func(size int) string { return chunked + "0\r\nX: " + strings.Repeat("x", size-7) + lines("", "", "") }
	for _, tt := range []struct {
		name  string
		bytes string
		want  error
	}{
		{"head of 64 KiB", head(64 << 10), nil},
		{"head larger than 64 KiB", head(64<<10 + 1), errHeadSize},
		{"head without an end", start + strings.Repeat("x", 1<<20), errHeadSize},
		{"chunk size line of 4 KiB", extension(4 << 10), nil},
		{"chunk size line larger than 4 KiB", extension(4<<10 + 1), errChunkLine},
		{"trailers of 64 KiB", trailers(64 << 10), nil},
		{"trailers larger than 64 KiB", trailers(64<<10 + 1), errTrailers},
		{"chunks of MaxBody", chunked + lines("fffff", strings.Repeat("x", 1<<20-1), "1", "x", "0", "", ""), nil},
		{"chunks larger than MaxBody", chunked + lines("fffff", strings.Repeat("x", 1<<20-1), "2", "xx", "0", "", ""), errTooLarge},
		{"until close, MaxBody", lines("HTTP/1.1 200 OK", "", strings.Repeat("x", 1<<20)), nil},
		{"until close, larger than MaxBody", lines("HTTP/1.1 200 OK", "", strings.Repeat("x", 1<<20+1)), errTooLarge},
		{"length of MaxBody", lines("HTTP/1.1 200 OK", "Content-Length: 1048576", "", strings.Repeat("x", 1<<20)), nil},
		{"length larger than MaxBody", lines("HTTP/1.1 200 OK", "Content-Length: 1048577", "", strings.Repeat("x", 1<<20+1)), errTooLarge},
		{"much less than announced", lines("HTTP/1.1 200 OK", "Content-Length: 1048576", "", "x"), errCut},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := get(tt.bytes); got.err != tt.want {
				t.Errorf("%v, want %v", got.err, tt.want)
			}
		})
	}
}

// An answer that violates HTTP has the class protocol, an early end has eof.
func TestAnswerClasses(t *testing.T) {
	t.Parallel()
	for _, tt := range answers {
		if tt.want.err == nil {
			continue
		}
		want := conn.Protocol
		switch {
		case errors.Is(tt.want.err, errSilent), errors.Is(tt.want.err, errCut):
			want = conn.EOF
		case errors.Is(tt.want.err, errTooLarge):
			want = conn.TooLarge
		}
		if got := conn.Classify(tt.want.err); got != want {
			t.Errorf("%s: %v, want %v", tt.name, got, want)
		}
	}
}
