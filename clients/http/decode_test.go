package http

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/gobench-io/gobench/internal/load/conn"
	"github.com/gobench-io/gobench/internal/testing/long"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// encode returns data in a content coding.
func encode(t testing.TB, coding string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch coding {
	case "gzip", "x-gzip":
		w, err = gzip.NewWriterLevel(&b, gzip.BestSpeed)
	case "deflate":
		w, err = zlib.NewWriterLevel(&b, zlib.BestSpeed)
	case "raw deflate":
		w, err = flate.NewWriter(&b, flate.BestSpeed)
	case "br":
		w = brotli.NewWriterLevel(&b, brotli.BestSpeed)
	case "zstd":
		w, err = zstd.NewWriter(&b, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	default:
		return data
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var codingNames = []string{"gzip", "x-gzip", "deflate", "raw deflate", "br", "zstd"}

// Bodies are decoded, with a length and in chunks. Without the option no coding is requested
// and nothing is decoded.
func TestDecode(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("gobench 0123456789\n"), 10000)
	srv := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		w.Header().Set("X-Accept", r.Header.Get("Accept-Encoding"))
		body := data
		for _, coding := range r.URL.Query()["c"] {
			body = encode(t, strings.ToLower(coding), body)
			w.Header().Add("Content-Encoding", strings.TrimPrefix(coding, "raw "))
		}
		if r.URL.Path == "/chunked" {
			w.(nethttp.Flusher).Flush()
		}
		if r.URL.Path == "/empty" {
			return
		}
		w.Write(body)
	}))
	t.Cleanup(srv.Close)
	for _, tt := range []struct {
		query string
		coded bool // it stays encoded
	}{
		{"c=gzip", false}, {"c=x-gzip", false}, {"c=deflate", false}, {"c=raw+deflate", false}, {"c=br", false}, {"c=zstd", false},
		{"c=GZIP", false}, {"c=identity", false}, {"", false}, {"c=gzip&c=br", false}, {"c=zstd&c=identity&c=deflate", false},
		{"c=strange", false}, {"c=gzip&c=strange", true},
	} {
		for _, path := range []string{"/", "/chunked", "/empty"} {
			for _, on := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s %s %v", path, tt.query, on), func(t *testing.T) {
					t.Parallel()
					ctx, c, rec := newClient(t, Options{Decode: on})
					url := srv.URL + path + "?" + tt.query
					for range 2 {
						r, err := c.Do(ctx, Request{URL: url})
						if err != nil {
							t.Fatal(err)
						}
						if want := map[bool]string{true: acceptEncoding}[on]; r.Header.Get("X-Accept") != want {
							t.Errorf("asked for %q, want %q", r.Header.Get("X-Accept"), want)
						}
						plain := path != "/empty" && bytes.Equal(r.Body, data)
						whole := (on && !tt.coded || tt.query == "" || tt.query == "c=identity" || tt.query == "c=strange") && path != "/empty"
						if plain != whole || path == "/empty" && len(r.Body) > 0 {
							t.Errorf("%d bytes, decoded: %v, want %v", len(r.Body), plain, whole)
						}
						if err := c.GetIgnoreRes(ctx, url, nil); err != nil {
							t.Error(err)
						}
					}
					wantCounts(t, rec, counts{"http_ok": 4, "latency": 4})
				})
			}
		}
	}
}

// An invalid body is malformed and a body that is too large is too large, whatever was
// announced. Neither allocates as much memory as the decoded body would.
func TestDecodeFaults(t *testing.T) {
	const max = 256 << 10
	size := 13 << 20 // more than decode may allocate
	if long.Run {
		size = 32 << 20
	}
	bomb := make([]byte, size)
	for _, coding := range codingNames {
		name := strings.TrimPrefix(coding, "raw ")
		exact, over, big := encode(t, coding, bomb[:max]), encode(t, coding, bomb[:max+1]), encode(t, coding, bomb)
		if len(big) > max {
			t.Fatalf("%s: the bomb has %d bytes", coding, len(big))
		}
		if got, err := decode(exact, name, max); err != nil || len(got) != max {
			t.Errorf("%s: %d bytes, %v; want all that MaxBody allows", coding, len(got), err)
		}
		if _, err := decode(over, name, max); err != errTooLarge {
			t.Errorf("%s, a byte too many: %v", coding, err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := decode(big, name, max)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; err != errTooLarge || n > 12<<20 {
			t.Errorf("%s bomb: %v, with %d bytes allocated", coding, err, n)
		}
		some := encode(t, coding, []byte(strings.Repeat("gobench 0123456789\n", 1000)))
		for what, data := range map[string][]byte{
			"cut":     some[:len(some)/2],
			"garbage": []byte("this is not encoded at all, not in the least"),
		} {
			if got, err := decode(data, name, max); conn.Classify(err) != conn.Protocol || !strings.Contains(err.Error(), "malformed answer: content coding "+name+": ") {
				t.Errorf("%s, %s: %d bytes, %v; want protocol", coding, what, len(got), err)
			}
		}
	}
	if _, err := decode(nil, "gzip, gzip, gzip, gzip, gzip", max); conn.Classify(err) != conn.Protocol {
		t.Errorf("five codings: %v", err)
	}
}

// The class of a failure, the bytes counted and the latency are those of the encoded answer.
func TestDecodeCounts(t *testing.T) {
	t.Parallel()
	good := encode(t, "gzip", make([]byte, 1<<20))
	s := servers.Faults(t, func(p *servers.Peer) {
		for {
			r := p.Request()
			body := string(good)
			switch {
			case r == "":
				return
			case strings.HasPrefix(r, "GET /bad"):
				body = "garbage"
			}
			p.Send(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
		}
	})
	ctx, c, rec := newClient(t, Options{Decode: true, MaxBody: 1 << 20})
	if body, err := c.Get(ctx, s.URL, nil); err != nil || len(body) != 1<<20 {
		t.Errorf("%d bytes, %v", len(body), err)
	}
	if in := rec.Counts("home.")["bytes_in"]; in > int64(len(good))+200 {
		t.Errorf("%d bytes in, of an answer of %d", in, len(good))
	}
	if body, err := c.Get(ctx, s.URL+"/bad", nil); conn.Classify(err) != conn.Protocol || body != nil {
		t.Errorf("%d bytes, %v", len(body), err)
	}
	wantCounts(t, rec, counts{"http_ok": 1, "latency": 1, "http_other_fail": 1, "error.protocol": 1})
	ctx, c, rec = newClient(t, Options{Decode: true, MaxBody: 1<<20 - 1})
	if _, err := c.Get(ctx, s.URL, nil); conn.Classify(err) != conn.TooLarge {
		t.Error(err)
	}
	wantCounts(t, rec, counts{"http_other_fail": 1, "error.too_large": 1})
}

// nginx compresses if the request accepts it.
func TestDecodeOfNginx(t *testing.T) {
	t.Parallel()
	ng := servers.Nginx(t, "gzip on; gzip_min_length 1;")
	ctx, c, rec := newClient(t, Options{Decode: true, RootCAs: ng.Roots})
	for _, url := range []string{ng.URL, ng.TLS} {
		r, err := c.Do(ctx, Request{URL: url + "/"})
		if err != nil || string(r.Body) != servers.Index || r.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%d bytes, Content-Encoding %q, %v", len(r.Body), r.Header.Get("Content-Encoding"), err)
		}
	}
	if in := rec.Counts("home.")["bytes_in"]; in > int64(len(servers.Index)) {
		t.Errorf("%d bytes in: it was not compressed", in)
	}
}

// FuzzDecode decodes anything: it returns, within the limit, and decoding inverts encoding.
func FuzzDecode(f *testing.F) {
	for i, coding := range codingNames {
		f.Add(encode(f, coding, []byte(strings.Repeat("gobench", 100))), uint8(i))
	}
	f.Fuzz(func(t *testing.T, data []byte, coding uint8) {
		name := codingNames[int(coding)%len(codingNames)]
		const max = 64 << 10
		got, err := decode(data, strings.TrimPrefix(name, "raw "), max)
		if len(got) > max || err != nil && err != errTooLarge && conn.Classify(err) != conn.Protocol {
			t.Fatalf("%s: %d bytes, %v", name, len(got), err)
		}
		if len(data) <= max {
			if back, err := decode(encode(t, name, data), strings.TrimPrefix(name, "raw "), max); name != "raw deflate" && (err != nil || !bytes.Equal(back, data)) {
				t.Fatalf("%s: %d bytes of %d came back, %v", name, len(back), len(data), err)
			}
		}
	})
}
