package api

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
)

// TestOtherSites is B13, the origins of B16, and B15.
func TestOtherSites(t *testing.T) {
	r := serve(t, Options{}).people()
	cookie := r.in("tester")
	ask := func(method, path, body string, headers ...string) reply {
		return r.ask("", method, path, body, append([]string{"Cookie", cookie}, headers...)...)
	}
	for _, tt := range []struct {
		name    string
		headers []string
		want    int
	}{
		{"a program", nil, 201},
		{"our own page", []string{"Sec-Fetch-Site", "same-origin", "Origin", r.url}, 201},
		{"typed by hand", []string{"Sec-Fetch-Site", "none"}, 201},
		{"another site", []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, 403},
		{"another port", []string{"Sec-Fetch-Site", "same-site", "Origin", "http://127.0.0.1:1"}, 403},
		{"an old browser", []string{"Origin", "http://evil.example"}, 403},
		{"a sandbox", []string{"Origin", "null"}, 403},
	} {
		if got := ask("POST", "/api/v1/runs", submission("x"), tt.headers...); got.StatusCode != tt.want {
			t.Errorf("POST of %s: %d %s", tt.name, got.StatusCode, got.body)
		}
		want := min(tt.want, 200)
		if tt.want == 403 {
			want = 403
		}
		for _, path := range []string{"/api/v1/runs", "/api/v1/info", "/healthz"} {
			if got := ask("GET", path, "", tt.headers...); got.StatusCode != want {
				t.Errorf("GET %s of %s: %d", path, tt.name, got.StatusCode)
			}
		}
		if want == 403 {
			if got := ask("GET", "/api/v1/events", "", tt.headers...); got.StatusCode != 403 {
				t.Errorf("events of %s: %d", tt.name, got.StatusCode)
			}
		}
	}
	if n := len(r.master.submitted); n != 3 {
		t.Errorf("%d were submitted", n)
	}
	for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} { // what a form can send
		if got := ask("POST", "/api/v1/runs", submission("x"), "Content-Type", media); got.StatusCode != 415 {
			t.Errorf("%s: %d", media, got.StatusCode)
		}
	}
	got := ask("OPTIONS", "/api/v1/runs", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "POST", "Sec-Fetch-Site", "cross-site")
	if got.StatusCode/100 == 2 {
		t.Errorf("a preflight is let through: %d", got.StatusCode)
	}
	for _, a := range []reply{got, ask("GET", "/api/v1/runs", ""), ask("GET", "/", "")} {
		for name := range a.Header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("header %s", name)
			}
		}
	}
	if got := r.ask("", "GET", "/api/v1/events", ""); got.StatusCode != 401 {
		t.Errorf("events without login: %d", got.StatusCode)
	}
}

// TestHosts is B14.
func TestHosts(t *testing.T) {
	r := serve(t, Options{Hosts: []string{"bench.example.com"}}).people()
	for host, want := range map[string]int{
		r.addr: 200, "localhost": 200, "LOCALHOST:1234": 200, "127.0.0.1": 200, "[::1]:80": 200, "bench.example.com": 200, "Bench.Example.com:443": 200,
		"evil.example": 421, "localhost.evil.example": 421, "evil-localhost": 421, "192.0.2.1": 421, "bench.example.com.": 421, "127.0.0.1.nip.io": 421, "0": 421, "0.0.0.0": 421,
	} {
		for _, path := range []string{"/api/v1/runs", "/", "/healthz"} {
			got := r.ask(r.tokens[auth.Viewer], "GET", path, "", "Host", host)
			if got.StatusCode != want {
				t.Errorf("%s of %s: %d", path, host, got.StatusCode)
			}
			if want == 421 && got.problem(t).Code != "misdirected" {
				t.Errorf("%s", got.body)
			}
		}
	}
	for _, text := range []string{
		"GET http://evil.example/api/v1/info HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET /api/v1/info HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: localhost\r\n\r\n",
		"GET /api/v1/info HTTP/1.0\r\n\r\n",
	} {
		if got := r.raw(text); !strings.HasPrefix(got, "HTTP/1.1 421 ") && !strings.HasPrefix(got, "HTTP/1.0 421 ") {
			t.Errorf("%q: %.100s", text, got)
		}
	}
}

// TestHeaders is the answers' side of B11.
func TestHeaders(t *testing.T) {
	r := serve(t, Options{}).people()
	r.master.log = "<script>alert(1)</script>\n"
	id := r.running()
	for _, path := range []string{"/", "/nothing", "/api/v1/runs", "/api/v1/nothing", "/api/v1/runs/" + id + "/log", "/api/v1/runs/" + id + "/report", "/healthz"} {
		got := r.ask(r.tokens[auth.Viewer], "GET", path, "")
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer"} {
			if got.Header.Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, got.Header.Get(name))
			}
		}
		policy := got.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'self'") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", path, policy)
		}
		if strings.HasPrefix(path, "/api/") && got.Header.Get("Cache-Control") != "no-store" || got.Header.Get("Server") != "" {
			t.Errorf("%s: %v", path, got.Header)
		}
		if got.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: no request id", path)
		}
	}
	log := r.ask(r.tokens[auth.Viewer], "GET", "/api/v1/runs/"+id+"/log", "")
	if log.Header.Get("Content-Type") != "text/plain; charset=utf-8" || log.Header.Get("Content-Disposition") != "attachment; filename="+id+".log" || log.body != r.master.log {
		t.Errorf("log: %v %q", log.Header, log.body)
	}
}

// TestSmuggling is B17: a message that some readers take for two is refused, and the
// connection closed.
func TestSmuggling(t *testing.T) {
	r := serve(t, Options{}).people()
	head := "Host: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer " + r.tokens[auth.Operator] + "\r\n"
	second := "POST /api/v1/stop-all HTTP/1.1\r\n" + head + "Content-Length: 2\r\n\r\n{}"
	for _, tt := range []struct{ name, text, status string }{
		{"two lengths", "POST /api/v1/stop-all HTTP/1.1\r\n" + head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "400"},
		{"a length that is none", "POST /api/v1/stop-all HTTP/1.1\r\n" + head + "Content-Length: +2\r\n\r\n{}", "400"},
		{"an unknown encoding", "POST /api/v1/stop-all HTTP/1.1\r\n" + head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "501"},
		{"two encodings", "POST /api/v1/stop-all HTTP/1.1\r\n" + head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", "501"},
		{"chunks that end in a bare LF", "POST /api/v1/stop-all HTTP/1.1\r\n" + head + "Transfer-Encoding: chunked\r\n\r\n2\n{}\n0\n\n" + second, "400"},
		{"a chunk that is too short", "POST /api/v1/stop-all HTTP/1.1\r\n" + head + "Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n" + second, "400"},
		{"a space before the colon", "GET /api/v1/info HTTP/1.1\r\nHost: localhost\r\nX-A : b\r\n\r\n", "400"},
		{"two hosts", "GET /api/v1/info HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", "400"},
		{"NUL in a header", "GET /api/v1/info HTTP/1.1\r\nHost: localhost\r\nX-A: b\x00c\r\n\r\n", "400"},
		{"a folded header", "GET /api/v1/info HTTP/1.1\r\nHost: localhost\r\n X-A: b\r\n\r\n", "400"},
		{"no HTTP", "hello\r\n\r\n", "400"},
	} {
		got := r.raw(tt.text)
		if !strings.HasPrefix(got, "HTTP/1.1 "+tt.status+" ") || strings.Count(got, "HTTP/1.1 ") != 1 {
			t.Errorf("%s: %.200q", tt.name, got)
		}
	}
	// With both a length and chunks, the chunks count, once: what follows is not a request
	// of its own within the same connection's first one.
	got := r.raw("POST /api/v1/stop-all HTTP/1.1\r\n" + head + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + second)
	if strings.Count(got, "HTTP/1.1 ") != 1 {
		t.Errorf("length and chunks: %.300q", got)
	}
	if n := len(r.store.audited("stop-all")); n > 1 {
		t.Errorf("%d requests were done", n)
	}
}

// TestProxiesAreNotBelieved is B18.
func TestProxiesAreNotBelieved(t *testing.T) {
	r := serve(t, Options{}).people()
	for i := range 6 {
		got := r.ask("", "POST", "/api/v1/login", login("tester", "wrong"), "X-Forwarded-For", fmt.Sprintf("192.0.2.%d", i), "X-Real-IP", "192.0.2.9", "Forwarded", "for=192.0.2.7")
		if want := map[bool]int{true: 401, false: 429}[i < perAccount]; got.StatusCode != want {
			t.Errorf("attempt %d: %d", i, got.StatusCode)
		}
	}
	for _, e := range r.store.audited("login") {
		if e.Address != "127.0.0.1" {
			t.Errorf("address %q", e.Address)
		}
	}
	if got := r.ask("", "GET", "/metrics", "", "X-Forwarded-For", "127.0.0.1"); got.StatusCode != 401 {
		t.Errorf("metrics through a proxy: %d", got.StatusCode)
	}
}

// TestSlowAndBigRequests is B19 but for its idle connections.
func TestSlowAndBigRequests(t *testing.T) {
	const header = 500 * time.Millisecond
	r := serve(t, Options{Times: Times{Header: header}}).people()
	if got := r.raw("GET /api/v1/info HTTP/1.1\r\nHost: localhost\r\nX-A: " + strings.Repeat("a", 1<<20)); !strings.HasPrefix(got, "HTTP/1.1 431 ") && got != "" {
		t.Errorf("1 MiB of headers: %.100q", got)
	}
	if got := r.raw("GET /api/v1/info HTTP/1.1\r\nHost: localhost\r\nX-A: " + strings.Repeat("a", 66<<10) + "\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 431 ") {
		t.Errorf("66 KiB of headers: %.100q", got)
	}
	if got := r.raw("GET /api/v1/info HTTP/1.1\r\nHost: localhost\r\nX-A: " + strings.Repeat("a", 50<<10) + "\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
		t.Errorf("50 KiB of headers: %.100q", got)
	}
	began := time.Now()
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "GET /api/v1/info HTTP/1.1\r\n")
	go func() { // a header that never ends
		for i := 0; ; i++ {
			if _, err := fmt.Fprintf(c, "X-%d: a\r\n", i); err != nil {
				return
			}
			time.Sleep(header / 10)
		}
	}()
	_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
	if b, err := io.ReadAll(c); err != nil && strings.Contains(err.Error(), "timeout") || bytes.Contains(b, []byte(" 200 ")) {
		t.Errorf("a slow header: %q, %v", b, err)
	}
	if took := time.Since(began); took < header {
		t.Errorf("a slow header is cut off after %s", took)
	}
}

// TestSlowBody holds that a body that does not come ends with its deadline, here one that
// has passed.
func TestSlowBody(t *testing.T) {
	r := serve(t, Options{Times: Times{Body: 200 * time.Millisecond}}).people()
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: 100\r\n\r\n{", r.tokens[auth.Tester])
	_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
	b, err := io.ReadAll(c)
	if err != nil || !bytes.HasPrefix(b, []byte("HTTP/1.1 408 ")) || !bytes.Contains(b, []byte(`"code":"timeout"`)) {
		t.Errorf("%q, %v", b, err)
	}
	// A request after a slow one on a connection of its own has its whole time.
	if got := r.ask(r.tokens[auth.Tester], "POST", "/api/v1/runs", submission("x")); got.StatusCode != 201 {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	id := r.running()
	_, lines := r.follow(r.tokens[auth.Tester], "/api/v1/events?run="+id)
	comes(t, lines, "running")
	began := time.Now()
	eventually(t, "the time of a body has passed", func() bool { return time.Since(began) > 300*time.Millisecond })
	r.master.interval(id, 1)
	comes(t, lines, `"interval":`) // a stream has none
}
