package http

import (
	"context"
	"io"
	"maps"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/executor/executortest"
)

// newClient returns a client with a recorder for the test.
func newClient(t testing.TB, opts ...Options) (context.Context, HttpClient, *executortest.Recorder) {
	t.Helper()
	ctx, rec := executortest.Context(t)
	c, err := NewHttpClient(ctx, "home", opts...)
	if err != nil {
		t.Fatal(err)
	}
	return ctx, c, rec
}

// limited returns options for a fault of a class: a time limit that is short only if the class
// is that of the limit, because on a busy host any other fault may take long.
func limited(class string, short time.Duration) Options {
	if class == "timeout" {
		return Options{Timeout: short}
	}
	return Options{}
}

type counts = map[string]int64

// outcomes returns the counts without those of bytes, connections, statuses, recoveries, the
// time to the first byte, and what wantCounts compares with the others.
func outcomes(rec *executortest.Recorder) counts {
	got := rec.Counts("home.")
	maps.DeleteFunc(got, func(title string, _ int64) bool {
		for _, about := range []string{"bytes_", "connections_", "connect", "dns", "tls", "peer.", "recovery", "status.", "ttfb", "begun", "age"} {
			if strings.HasPrefix(title, about) {
				return true
			}
		}
		return false
	})
	return got
}

// wantCounts fails the test unless the outcomes of operations are these, and add up: those that
// began are those with an answer or without one, and each of the latter has an age.
func wantCounts(t *testing.T, rec *executortest.Recorder, want counts) {
	t.Helper()
	all := rec.Counts("home.")
	if ended := all["http_ok"] + all["http_fail"] + all["http_other_fail"]; all["begun"] != ended || all["age"] != all["http_other_fail"] {
		t.Errorf("%d began and %d ended, %d of them without an answer, with %d ages", all["begun"], ended, all["http_other_fail"], all["age"])
	}
	if got := outcomes(rec); !maps.Equal(got, want) {
		t.Errorf("counts = %v, want %v; errors %v", got, want, rec.Errors("home"))
	}
}

// connections returns how many were opened, and how many are open.
func connections(rec *executortest.Recorder) (opened, open int64) {
	got := rec.Counts("home.")
	return got["connections_opened"], got["connections_open"]
}

// wantOneConnection fails the test unless one connection was opened, and is open.
func wantOneConnection(t *testing.T, rec *executortest.Recorder) {
	t.Helper()
	if opened, open := connections(rec); opened != 1 || open != 1 {
		t.Errorf("connections: %d opened, %d open; want 1, 1", opened, open)
	}
}

// wantWrong fails the test unless calls with r return an error that contains want, each time,
// and nothing is counted.
func wantWrong(t *testing.T, r Request, want string) {
	t.Helper()
	ctx, c, rec := newClient(t)
	for range 3 {
		if _, err := c.Do(ctx, r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if got := rec.Counts("home."); len(got) != 0 {
		t.Errorf("counts %v, want none", got)
	}
}

// closedURL returns a URL where nothing listens.
func closedURL(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

// ok is the shortest successful answer.
const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not come to that in a minute")
		}
	}
}

// awaitHeaders reads what an HTTP/2 client sends, up to the head of its first request or to the
// end.
func awaitHeaders(r io.Reader) {
	const preface, frameHead, headers = 24, 9, 1 // RFC 9113, sections 3.4, 4.1 and 6.2
	_, _ = io.CopyN(io.Discard, r, preface)
	for {
		var head [frameHead]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return
		}
		_, _ = io.CopyN(io.Discard, r, int64(head[0])<<16|int64(head[1])<<8|int64(head[2]))
		if head[3] == headers {
			return
		}
	}
}

// ask creates a client with opts and sends times requests, each on a new connection if fresh.
func ask(t *testing.T, opts Options, url string, times int, fresh bool) (*executortest.Recorder, error) {
	t.Helper()
	ctx, c, rec := newClient(t, opts)
	defer c.Close()
	var headers map[string]string
	if fresh {
		headers = map[string]string{"Connection": "close"}
	}
	for range times {
		if _, err := c.Get(ctx, url, headers); err != nil {
			return rec, err
		}
	}
	return rec, nil
}
