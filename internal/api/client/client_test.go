package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// open returns a client, which is closed when the test ends.
func open(t *testing.T, address string, o Options) *Client {
	t.Helper()
	c, err := New(address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"localhost:8080": "http://localhost:8080", "http://127.0.0.1:8080/": "http://127.0.0.1:8080", "https://bench.example.com": "https://bench.example.com", "[::1]:80": "http://[::1]:80",
	} {
		c, err := New(address, Options{})
		if err != nil || c.URL() != want {
			t.Errorf("%q: %v, %v", address, c, err)
		}
		if same, err := Address(address); err != nil || same != want {
			t.Errorf("%q is the address %q, %v", address, same, err)
		}
	}
	for _, address := range []string{"", "ftp://x", "http://", "http://x/path", "http://x?y", "http://u:p@x", "http://x y", "http://x#y", "::"} {
		if c, err := New(address, Options{}); err == nil {
			t.Errorf("%q is %s", address, c.URL())
		}
	}
}

// TestNoMasterThere holds the error where no master answers: what is wrong, and what to do.
func TestNoMasterThere(t *testing.T) {
	servers.NoLeaks(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	l.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<html>It works!</html>")
	}))
	defer page.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"product":"something"}`)
	}))
	defer other.Close()
	missing := httptest.NewServer(http.NotFoundHandler())
	defer missing.Close()
	moved := httptest.NewServer(http.RedirectHandler("https://elsewhere.example/", http.StatusMovedPermanently))
	defer moved.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	go func() {
		for {
			c, err := mute.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	for _, tt := range []struct{ name, address, say string }{
		{"nobody", nobody, "no master answers at http://" + nobody + ": start one there with gobench"},
		{"a page", page.URL, "not a gobench master"},
		{"another program", other.URL, "not a gobench master"},
		{"no such path", missing.URL, "not a gobench master"},
		{"moved", moved.URL, "not a gobench master"},
		{"TLS where none is asked for", strings.Replace(secure.URL, "https", "http", 1), "use https://"},
		{"no TLS", strings.Replace(page.URL, "http", "https", 1), "does not speak TLS"},
		{"an authority that is not known", secure.URL, "does not trust"},
		{"hangs up", mute.Addr().String(), "broke before it had answered"},
		{"no such host", "http://host.invalid:1", "cannot be found"},
	} {
		_, err := open(t, tt.address, Options{Token: "gbt_secret"}).Information(t.Context())
		if err == nil || !strings.Contains(err.Error(), tt.say) || strings.Contains(err.Error(), "gbt_secret") {
			t.Errorf("%s: %v", tt.name, err)
		}
		var untrusted *UntrustedError
		if errors.As(err, &untrusted) != (tt.name == "an authority that is not known") || untrusted != nil && untrusted.URL != secure.URL || err != nil && strings.Contains(err.Error(), "cacert") {
			t.Errorf("%s: %#v", tt.name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open(t, page.URL, Options{}).Me(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

func TestProblemsAreErrors(t *testing.T) {
	servers.NoLeaks(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t" || r.URL.Path != "/api/v1/me" {
			t.Errorf("%s with %q", r.URL, r.Header.Get("Authorization"))
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"status":429,"code":"too_many_requests","detail":"slow down","errors":[{"pointer":"/a/b","detail":"is odd"}],"request_id":"r1"}`)
	}))
	defer srv.Close()
	_, err := open(t, srv.URL, Options{Token: "t"}).Me(t.Context())
	var e *Error
	if !errors.As(err, &e) || e.Status != 429 || e.Code != "too_many_requests" || e.Retry != 7*time.Second || err.Error() != "slow down\n  a/b is odd" {
		t.Errorf("%#v: %v", err, err)
	}
}

// streaming returns a client of a server whose first stream of events is the text first and,
// with hang, then silent; further ones are the text next. asked receives the Last-Event-Id of
// each request. Both are closed when the test ends.
func streaming(t *testing.T, o Options, first string, hang bool, next string) (c *Client, asked chan string) {
	t.Helper()
	asked = make(chan string, 10)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("Last-Event-Id")
		w.Header().Set("Content-Type", "text/event-stream")
		if len(asked) > 1 {
			_, _ = io.WriteString(w, next)
			return
		}
		_, _ = io.WriteString(w, first)
		_ = http.NewResponseController(w).Flush()
		if hang {
			<-r.Context().Done()
		}
	}))
	t.Cleanup(srv.Close)
	return open(t, srv.URL, o), asked
}

// numbers returns the numbers of a run's events.
func numbers(t *testing.T, c *Client) (got []uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for e, err := range c.Events(ctx, "r", 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Number)
	}
	return got
}

// TestDeadStream holds that a silent stream is opened again, and that its error is the silence.
func TestDeadStream(t *testing.T) {
	servers.NoLeaks(t)
	const third = "\"run\":\"r\",\ndata: \"event\":\"note\",\"time\":\"2026-01-02T03:04:05Z\"}\n\n"
	c, asked := streaming(t, Options{Wait: time.Millisecond, Silent: 200 * time.Millisecond},
		": hello\n\nid: 3\ndata: {\"number\":3,"+third, true,
		"id: 3\ndata: {\"number\":3,"+third+"id: 4\ndata: {\"number\":4,\"run\":\"r\",\"event\":\"end\",\"time\":\"2026-01-02T03:04:05Z\"}\n\n")
	var broken []string
	c.WhenBroken(func(err error) { broken = append(broken, fmt.Sprint(err)) })
	if got := numbers(t, c); !slices.Equal(got, []uint64{3, 4}) || <-asked != "" || <-asked != "3" {
		t.Errorf("got %v", got)
	}
	if want := []string{"the master sent nothing for 200ms"}; !slices.Equal(slices.Compact(broken), want) {
		t.Errorf("broken: %q, want %q", broken, want)
	}
}

// TestRestartedMaster holds that events of a master that was restarted are not taken for
// repeated ones, whether its numbers are higher or begin again.
func TestRestartedMaster(t *testing.T) {
	for _, second := range []uint64{1, 900} {
		t.Run(fmt.Sprint(second), func(t *testing.T) {
			servers.NoLeaks(t)
			c, asked := streaming(t, Options{Wait: time.Millisecond}, "data: {\"number\":7,\"run\":\"r\",\"event\":\"note\"}\n\n", false,
				fmt.Sprintf("data: {\"number\":%d,\"run\":\"r\",\"event\":\"note\"}\n\ndata: {\"number\":%d,\"run\":\"r\",\"event\":\"end\"}\n\n", second, second+1))
			if got, want := numbers(t, c), []uint64{7, second, second + 1}; !slices.Equal(got, want) || <-asked != "" || <-asked != "7" {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// TestRepeat holds which errors are worth another attempt, and that the attempts end.
func TestRepeat(t *testing.T) {
	c := open(t, "127.0.0.1:1", Options{Wait: time.Millisecond})
	status := func(n int) error { return &Error{Problem: types.Problem{Status: n}} }
	for _, tt := range []struct {
		name string
		errs []error
		want int // attempts
	}{
		{"success", []error{nil}, 1},
		{"a connection that fails", []error{io.EOF, io.EOF, nil}, 3},
		{"a busy master", []error{status(503), status(429), nil}, 3},
		{"a refusal", []error{io.EOF, status(403)}, 2},
	} {
		n := 0
		err := c.Repeat(t.Context(), time.Minute, func() error { n++; return tt.errs[n-1] })
		if n != tt.want || err != tt.errs[len(tt.errs)-1] {
			t.Errorf("%s: %d attempts, %v", tt.name, n, err)
		}
	}
	if err := c.Repeat(t.Context(), 10*time.Millisecond, func() error { return io.EOF }); err != io.EOF {
		t.Errorf("after the limit: %v", err)
	}
}

// FuzzReadEvents holds that no stream breaks its reader, and that numbers come as they
// were sent.
func FuzzReadEvents(f *testing.F) {
	f.Add("id: 1\ndata: {\"number\":1}\n\n")
	f.Add("data: {\ndata: }\n\n: c\n\ndata:{\"number\":2}\n\n")
	f.Add("retry: 5\r\n\r\ndata: x\n\n")
	f.Fuzz(func(t *testing.T, s string) {
		heard := 0
		_ = readEvents(strings.NewReader(s), func() { heard++ }, func(types.Event) bool { return true })
		if heard > strings.Count(s, "\n")+1 {
			t.Errorf("%d lines of %q", heard, s)
		}
	})
}
