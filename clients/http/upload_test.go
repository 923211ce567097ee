package http

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/load/conn"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// summing is a handler that describes the received body, its framing and its trailers.
func summing(w nethttp.ResponseWriter, r *nethttp.Request) {
	sum := sha256.New()
	n, err := io.Copy(sum, r.Body)
	if err != nil {
		return // the client sees a broken connection
	}
	fmt.Fprintf(w, "%s %d length=%d %v sum=%x trailers=%q", r.Method, n, r.ContentLength, r.TransferEncoding, sum.Sum(nil), r.Trailer.Get("X-Sum"))
}

func stringSource(s string) Source {
	return Stream(func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(s)), nil })
}

// sourceFunc is a Source for tests.
type sourceFunc func() (io.ReadCloser, int64, error)

func (f sourceFunc) Open() (io.ReadCloser, int64, error) { return f() }

// Bodies from any source are sent whole, with a length or in chunks, with trailers.
func TestUploads(t *testing.T) {
	t.Parallel()
	plain, secure := httptest.NewServer(nethttp.HandlerFunc(summing)), httptest.NewTLSServer(nethttp.HandlerFunc(summing))
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	for _, size := range []int{0, 1, 1000, pieceSize, pieceSize + 1, 3 << 20} {
		data := strings.Repeat("0123456789", size/10+1)[:size]
		path := filepath.Join(t.TempDir(), "body")
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		sized := fmt.Sprintf("PUT %d length=%d [] sum=%x trailers=%q", size, size, sha256.Sum256([]byte(data)), "")
		chunked := strings.Replace(sized, fmt.Sprintf("length=%d []", size), "length=-1 [chunked]", 1)
		for _, tt := range []struct {
			name    string
			request Request
			want    string
		}{
			{"file", Request{Source: File(path)}, sized},
			{"stream", Request{Source: stringSource(data)}, chunked},
			{"file in chunks", Request{Source: File(path), Chunked: true}, chunked},
			{"bytes in chunks", Request{Body: []byte(data), Chunked: true}, chunked},
			{"trailers", Request{Body: []byte(data), Trailers: map[string]string{"X-Sum": "abc"}},
				strings.Replace(chunked, `trailers=""`, `trailers="abc"`, 1)},
		} {
			for _, url := range []string{plain.URL, secure.URL} {
				t.Run(fmt.Sprintf("%s %d %s", tt.name, size, url[:5]), func(t *testing.T) {
					t.Parallel()
					ctx, c, rec := newClient(t, Options{InsecureSkipVerify: true})
					r := tt.request
					r.Method, r.URL = "PUT", url
					for range 3 {
						got, err := c.Do(ctx, r)
						if err != nil || string(got.Body) != tt.want {
							t.Errorf("%s, %v; want %s", got.Body, err, tt.want)
						}
					}
					wantCounts(t, rec, counts{"http_ok": 3, "latency": 3})
					wantOneConnection(t, rec)
				})
			}
		}
	}
}

// A trailer's value may be computed while the body is sent.
func TestTrailerOfStream(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(nethttp.HandlerFunc(summing))
	t.Cleanup(srv.Close)
	ctx, c, _ := newClient(t)
	trailers := map[string]string{"X-Sum": ""}
	source := Stream(func() (io.ReadCloser, error) {
		pr, pw := io.Pipe()
		go func() {
			sum := sha256.New()
			for range 100 {
				_, _ = io.MultiWriter(pw, sum).Write([]byte("0123456789"))
			}
			trailers["X-Sum"] = fmt.Sprintf("%x", sum.Sum(nil))
			pw.Close()
		}()
		return pr, nil
	})
	r, err := c.Do(ctx, Request{Method: "POST", URL: srv.URL, Source: source, Trailers: trailers})
	want := fmt.Sprintf("%x", sha256.Sum256(bytes.Repeat([]byte("0123456789"), 100)))
	if err != nil || !strings.Contains(string(r.Body), fmt.Sprintf("trailers=%q", want)) {
		t.Errorf("%s, %v; want trailer %s", r.Body, err, want)
	}
}

// A file is sent with constant memory, and its Source is closed each time.
func TestUploadIsFlat(t *testing.T) {
	const size = 256 << 20
	path := filepath.Join(t.TempDir(), "body")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		t.Fatal(err)
	}
	var got atomic.Int64
	s := servers.Faults(t, func(p *servers.Peer) {
		for p.Head() != "" {
			n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, io.LimitReader(struct{ io.Reader }{p}, size), make([]byte, 1<<16))
			if got.Add(n); err != nil || n < size {
				return
			}
			p.Send(ok)
		}
	})
	ctx, c, rec := newClient(t)
	put := func() {
		if _, err := c.Do(ctx, Request{Method: "PUT", URL: s.URL, Source: File(path), Discard: true}); err != nil {
			t.Error(err)
		}
	}
	put()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	put()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 && !raced {
		t.Errorf("%d bytes allocated for a body of %d", n, size)
	}
	if got.Load() != 2*size {
		t.Errorf("%d bytes arrived, want %d", got.Load(), 2*size)
	}
	if out := rec.Counts("home.")["bytes_out"]; out < 2*size || out > 2*size+1000 {
		t.Errorf("bytes_out = %d, want %d and two heads", out, 2*size)
	}
}

// counted is a body that counts whether it was closed.
type counted struct {
	io.Reader
	closed *atomic.Int64
}

func (c counted) Close() error { c.closed.Add(1); return nil }

// An error of a body fails the operation with its reason, and leaves nothing open.
func TestUploadFaults(t *testing.T) {
	servers.NoLeaks(t)
	broken := errors.New("disk on fire")
	hold := func(p *servers.Peer) { p.Head(); p.Hold() }
	for _, tt := range []struct {
		name   string
		script func(p *servers.Peer)
		source func(closed *atomic.Int64) Source
		class  string
		text   string
	}{
		{"ends early", hold, func(closed *atomic.Int64) Source {
			return sourceFunc(func() (io.ReadCloser, int64, error) {
				return counted{strings.NewReader("hello"), closed}, 8, nil
			})
		}, "other", "send the body: it ended 3 bytes before the size that its Source returned"},
		{"can't be read", hold, func(closed *atomic.Int64) Source {
			return sourceFunc(func() (io.ReadCloser, int64, error) {
				return counted{io.MultiReader(strings.NewReader("hello"), failing{broken}), closed}, -1, nil
			})
		}, "other", "send the body: disk on fire"},
		{"says nothing", hold, func(closed *atomic.Int64) Source {
			return sourceFunc(func() (io.ReadCloser, int64, error) {
				return counted{silent{}, closed}, -1, nil
			})
		}, "other", "send the body: multiple Read calls return no data or error"},
		{"nobody reads", func(p *servers.Peer) { p.Head(); p.Wait() }, func(closed *atomic.Int64) Source {
			return sourceFunc(func() (io.ReadCloser, int64, error) {
				return counted{endless{}, closed}, -1, nil
			})
		}, "timeout", "i/o timeout"},
		{"never comes", hold, func(closed *atomic.Int64) Source {
			return sourceFunc(func() (io.ReadCloser, int64, error) {
				pr, pw := io.Pipe()
				_ = pw // nothing is written: only closing ends the Read
				return struct {
					io.Reader
					io.Closer
				}{pr, closer(func() { closed.Add(1); pr.Close() })}, -1, nil
			})
		}, "timeout", "i/o timeout"},
		{"reset", func(p *servers.Peer) { p.Head(); p.Reset() }, func(closed *atomic.Int64) Source {
			return sourceFunc(func() (io.ReadCloser, int64, error) {
				return counted{endless{}, closed}, 1 << 40, nil
			})
		}, "reset", "connection reset by peer"},
		{"garbage in answer", func(p *servers.Peer) { p.Head(); p.Send("garbage"); p.Wait() }, func(closed *atomic.Int64) Source {
			return sourceFunc(func() (io.ReadCloser, int64, error) {
				return counted{endless{}, closed}, 1 << 40, nil
			})
		}, "protocol", "malformed answer: not HTTP/1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := servers.Faults(t, tt.script)
			ctx, c, rec := newClient(t, limited(tt.class, 300*time.Millisecond))
			var closed atomic.Int64
			_, err := c.Do(ctx, Request{Method: "PUT", URL: s.URL, Source: tt.source(&closed)})
			if err == nil || conn.Classify(err).String() != tt.class || !strings.Contains(err.Error(), tt.text) && tt.class != "reset" {
				t.Errorf("%v, want %s: %s", err, tt.class, tt.text)
			}
			wantCounts(t, rec, counts{"http_other_fail": 1, "error." + tt.class: 1})
			if closed.Load() != 1 {
				t.Errorf("closed %d times, want once", closed.Load())
			}
			if _, open := connections(rec); open != 0 {
				t.Errorf("%d connections open", open)
			}
			c.Close()
		})
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

type closer func()

func (c closer) Close() error { c(); return nil }

// The caller's ctx ends an upload, also one that waits for its own body.
func TestUploadCanceled(t *testing.T) {
	t.Parallel()
	s := servers.Faults(t, (*servers.Peer).Hold)
	root, c, rec := newClient(t)
	ctx, cancel := context.WithCancel(root)
	pr, _ := io.Pipe()
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err := c.Do(ctx, Request{Method: "PUT", URL: s.URL, Source: Stream(func() (io.ReadCloser, error) { return pr, nil })})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	wantCounts(t, rec, counts{"error.canceled": 1, "http_other_fail": 1})
}

// An invalid upload is an error of the call: nothing is sent, nothing is counted.
func TestWrongUploads(t *testing.T) {
	t.Parallel()
	length := map[string]string{"Content-Length": "5"}
	for _, tt := range []struct {
		name    string
		request Request
		want    string
	}{
		{"no such file", Request{Source: File("/does/not/exist")}, "open the body: open /does/not/exist: no such file or directory"},
		{"a directory", Request{Source: File(t.TempDir())}, "not a regular file: use Stream"},
		{"no body", Request{Source: sourceFunc(func() (io.ReadCloser, int64, error) { return nil, 0, nil })}, "the Source returned no body"},
		{"two bodies", Request{Source: stringSource("x"), Body: []byte("y")}, "Request.Body and Request.Source are both set"},
		{"length of chunks", Request{Body: []byte("hello"), Chunked: true, Headers: length}, "header Content-Length: leave it out"},
		{"length of a stream", Request{Source: stringSource("hello"), Headers: length}, "header Content-Length: leave it out"},
		{"trailer's name", Request{Body: []byte("x"), Trailers: map[string]string{"a b": ""}}, `trailer "a b": not a header's name`},
		{"trailer that frames", Request{Body: []byte("x"), Trailers: map[string]string{"Content-length": "3"}}, "trailer Content-length: can't come after the body"},
		{"trailer's value", Request{Body: []byte("x"), Trailers: map[string]string{"X": "1\r\nY: 2"}}, `trailer X: control character`},
		{"nothing to wait with", Request{Headers: map[string]string{"expect": "100-Continue"}}, "no body to wait with"},
		{"TRACE", Request{Method: "TRACE", Body: []byte("x")}, "TRACE request has no body"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := tt.request
			r.URL = "http://127.0.0.1:1/"
			wantWrong(t, r, tt.want)
		})
	}
	// An invalid trailer value that is set while the body is read is detected too late for
	// that.
	s := servers.Faults(t, (*servers.Peer).Hold)
	ctx, c, rec := newClient(t)
	trailers := map[string]string{"X": ""}
	source := Stream(func() (io.ReadCloser, error) {
		trailers["X"] = "1\r\nY: 2"
		return io.NopCloser(strings.NewReader("x")), nil
	})
	_, err := c.Do(ctx, Request{Method: "PUT", URL: s.URL, Source: source, Trailers: trailers})
	if err == nil || !strings.Contains(err.Error(), "trailer X: control character") {
		t.Error(err)
	}
	wantCounts(t, rec, counts{"http_other_fail": 1, "error.other": 1})
}

// A body whose connection was lost is opened again for the next one.
func TestUploadAgain(t *testing.T) {
	t.Parallel()
	s := servers.Faults(t, func(p *servers.Peer) {
		if p.Request() == "" {
			return
		}
		p.Send(ok)
		if p.N > 0 {
			p.Hold()
		}
	})
	ctx, c, rec := newClient(t, Options{Resend: true})
	path := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := c.Do(ctx, Request{Method: "PUT", URL: s.URL, Source: File(path)}); err != nil {
			t.Fatal(err)
		}
		if l := c.c.idle; l != nil && s.Accepted() == 1 {
			waitFor(t, l.Gone)
		}
	}
	wantCounts(t, rec, counts{"http_ok": 2, "latency": 2, "resent": 1})
	if s.Accepted() != 2 {
		t.Errorf("%d connections, want 2", s.Accepted())
	}
}
