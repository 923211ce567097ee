package http

import (
	"context"
	"net"
	"testing"

	"github.com/gobench-io/gobench/internal/load/conn"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// page is an answer as nginx sends it.
var page = []byte("HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sat, 21 Nov 2026 06:00:00 GMT\r\n" +
	"Content-Type: text/html\r\nContent-Length: 615\r\nLast-Modified: Sat, 21 Nov 2026 05:00:00 GMT\r\n" +
	"Connection: keep-alive\r\nETag: \"65571f40-267\"\r\nAccept-Ranges: bytes\r\n\r\n" + servers.Index)

// rawServer answers each read with page, without allocating.
func rawServer(t testing.TB) string { return newRawServer(t, page) }

// newRawServer is rawServer with any answer.
func newRawServer(t testing.TB, answer []byte) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				b := make([]byte, 4<<10)
				for {
					if _, err := c.Read(b); err != nil {
						return
					}
					if _, err := c.Write(answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return "http://" + l.Addr().String() + "/"
}

func TestAllocs(t *testing.T) {
	url := rawServer(t)
	headers := map[string]string{"Accept": "text/html", "X-Token": "abc"}
	body := []byte("hello")
	other := 0
	urls := []string{url + "a?q=1", url + "b?q=2", url + "c?q=3"}
	foreign, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, tt := range []struct {
		name string
		call func(ctx context.Context, c HttpClient) error
		want float64
		opts Options
	}{
		{"GetIgnoreRes", func(ctx context.Context, c HttpClient) error { return c.GetIgnoreRes(ctx, url, nil) }, 0, Options{}},
		{"GetIgnoreRes with headers", func(ctx context.Context, c HttpClient) error { return c.GetIgnoreRes(ctx, url, headers) }, 0, Options{}},
		{"GetIgnoreRes of changing URLs", func(ctx context.Context, c HttpClient) error {
			other++
			return c.GetIgnoreRes(ctx, urls[other%3], nil)
		}, 0, Options{}},
		{"GetIgnoreRes under another ctx", func(ctx context.Context, c HttpClient) error { return c.GetIgnoreRes(foreign, url, nil) }, 0, Options{}},
		{"PostIgnoreRes", func(ctx context.Context, c HttpClient) error { return c.PostIgnoreRes(ctx, url, body, headers) }, 0, Options{}},
		{"Get: the body", func(ctx context.Context, c HttpClient) error { _, err := c.Get(ctx, url, nil); return err }, 1, Options{}},
		{"Do: head and body", func(ctx context.Context, c HttpClient) error {
			_, err := c.Do(ctx, Request{URL: url})
			return err
		}, 2, Options{}},
		{"Do with a name", func(ctx context.Context, c HttpClient) error {
			_, err := c.Do(ctx, Request{URL: url, Name: "page", Discard: true})
			return err
		}, 0, Options{}},
		{"Basic", func(ctx context.Context, c HttpClient) error { return c.GetIgnoreRes(ctx, url, nil) }, 0, Options{Auth: Basic("me", "secret")}},
		{"Bearer", func(ctx context.Context, c HttpClient) error { return c.GetIgnoreRes(ctx, url, nil) }, 0, Options{Auth: Bearer("token")}},
		{"MaxRedirects and none", func(ctx context.Context, c HttpClient) error { return c.GetIgnoreRes(ctx, url, nil) }, 1, Options{MaxRedirects: 10}},
		{"Decode and nothing to", func(ctx context.Context, c HttpClient) error { return c.GetIgnoreRes(ctx, url, nil) }, 1, Options{Decode: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, c, _ := newClient(t, tt.opts)
			call := func() {
				if err := tt.call(ctx, c); err != nil {
					t.Fatal(err)
				}
			}
			for range 10 {
				call()
			}
			want := tt.want
			if raced {
				want += 2
			}
			if n := testing.AllocsPerRun(1000, call); n > want {
				t.Errorf("%v allocations, want %v", n, want)
			}
		})
	}
}

func BenchmarkGet(b *testing.B) {
	url := rawServer(b)
	for _, bb := range []struct {
		name string
		call func(ctx context.Context, c HttpClient) error
	}{
		{"IgnoreRes", func(ctx context.Context, c HttpClient) error { return c.GetIgnoreRes(ctx, url, nil) }},
		{"body", func(ctx context.Context, c HttpClient) error { _, err := c.Get(ctx, url, nil); return err }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			ctx, c, _ := newClient(b)
			b.ReportAllocs()
			for b.Loop() {
				if err := bb.call(ctx, c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkHead measures parsing the head of an answer, without system calls.
func BenchmarkHead(b *testing.B) {
	for b.Loop() {
		var h head
		if done, err := h.parse(page); !done || err != nil {
			b.Fatal(done, err)
		}
	}
}

func BenchmarkPrepare(b *testing.B) {
	_, c, _ := newClient(b)
	headers := map[string]string{"Accept": "text/html", "X-Token": "abc"}
	urls := []string{"http://127.0.0.1:80/a?q=1", "http://127.0.0.1:80/b?q=2"}
	for _, bb := range []struct {
		name    string
		urls    []string
		headers map[string]string
	}{
		{"same", urls[:1], nil},
		{"same with headers", urls[:1], headers},
		{"changing", urls, nil},
	} {
		b.Run(bb.name, func(b *testing.B) {
			buf := make([]byte, 0, 1<<10)
			for i := 0; b.Loop(); i++ {
				q := call{request: Request{Method: "GET", URL: bb.urls[i%len(bb.urls)], Headers: bb.headers}}
				if err := c.c.prepare(&q); err != nil {
					b.Fatal(err)
				}
				if q.ready == nil {
					q.appendRequest(buf)
				}
			}
		})
	}
}

// canned is a connection with the same answer to every request.
type canned struct {
	replay
	answer []byte
}

func (c *canned) Read(p []byte) (int, error) { return copy(p, c.answer), nil }

// BenchmarkEngine measures a request without system calls.
func BenchmarkEngine(b *testing.B) { benchmarkEngine(b, Options{}) }

// BenchmarkOptions is BenchmarkEngine with options that may need further requests, where the
// answers need none.
func BenchmarkOptions(b *testing.B) {
	for name, o := range map[string]Options{
		"Basic":        {Auth: Basic("me", "secret")},
		"MaxRedirects": {MaxRedirects: 10},
		"Decode":       {Decode: true},
		"Cookies":      {Cookies: true},
	} {
		b.Run(name, func(b *testing.B) { benchmarkEngine(b, o) })
	}
}

func benchmarkEngine(b *testing.B, o Options) {
	ctx, c, _ := newClient(b, o)
	const url = "http://127.0.0.1:80/"
	q := call{request: Request{Method: "GET", URL: url}}
	if err := c.c.prepare(&q); err != nil {
		b.Fatal(err)
	}
	l := &link{Conn: conn.New(&canned{answer: page}), target: q.target}
	c.c.open++
	c.c.add(l)
	c.c.put(l)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.GetIgnoreRes(ctx, url, nil); err != nil {
			b.Fatal(err)
		}
	}
}
