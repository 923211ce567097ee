package http

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	nethttp "net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/load/conn"
)

// render returns the bytes of a request: with sorted headers, rendered and from a template.
func render(t testing.TB, r Request) (string, error) {
	t.Helper()
	_, c, _ := newClient(t)
	if r.Method == "" {
		r.Method = "GET"
	}
	var first string
	for i := range 3 {
		q := &call{request: r}
		if err := c.c.prepare(q); err != nil {
			return "", err
		}
		if (q.ready != nil) != (i == 2) {
			t.Errorf("call %d: from a template: %v", i, q.ready != nil)
		}
		head, body, _ := strings.Cut(string(q.appendRequest(nil))+string(r.Body), "\r\n\r\n")
		lines := strings.Split(head, "\r\n")
		slices.Sort(lines[2:])
		got := strings.Join(lines, "\r\n") + "\r\n\r\n" + body
		if i == 0 {
			first = got
		} else if got != first {
			t.Errorf("call %d renders %q, the first %q", i, got, first)
		}
	}
	return first, nil
}

func TestRequests(t *testing.T) {
	t.Parallel()
	agent := "User-Agent: " + userAgent
	for _, tt := range []struct {
		name    string
		request Request
		want    string // lines, joined by |
	}{
		{"plain", Request{URL: "http://a.test/x?y=z"}, "GET /x?y=z HTTP/1.1|Host: a.test|" + agent + "||"},
		{"no path", Request{URL: "http://a.test"}, "GET / HTTP/1.1|Host: a.test|" + agent + "||"},
		{"query only", Request{URL: "http://a.test?y"}, "GET /?y HTTP/1.1|Host: a.test|" + agent + "||"},
		{"fragment", Request{URL: "http://a.test/x#frag?no"}, "GET /x HTTP/1.1|Host: a.test|" + agent + "||"},
		{"fragment only", Request{URL: "http://a.test#frag"}, "GET / HTTP/1.1|Host: a.test|" + agent + "||"},
		{"port", Request{URL: "http://a.test:8080/"}, "GET / HTTP/1.1|Host: a.test:8080|" + agent + "||"},
		{"IPv6", Request{URL: "http://[::1]:8080/"}, "GET / HTTP/1.1|Host: [::1]:8080|" + agent + "||"},
		{"escaped already", Request{URL: "http://a.test/%20%C3%A9"}, "GET /%20%C3%A9 HTTP/1.1|Host: a.test|" + agent + "||"},
		{"to be escaped", Request{URL: "http://a.test/a b/é?q=\"x\""}, "GET /a%20b/%C3%A9?q=%22x%22 HTTP/1.1|Host: a.test|" + agent + "||"},
		{"headers", Request{URL: "http://a.test/", Headers: map[string]string{"Accept": "*/*", "X-Empty": ""}},
			"GET / HTTP/1.1|Host: a.test|Accept: */*|" + agent + "|X-Empty: ||"},
		{"own host and agent", Request{URL: "http://a.test/", Headers: map[string]string{"HOST": "b.test", "user-agent": "me"}},
			"GET / HTTP/1.1|Host: b.test|User-Agent: me||"},
		{"no agent", Request{URL: "http://a.test/", Headers: map[string]string{"User-Agent": ""}}, "GET / HTTP/1.1|Host: a.test||"},
		{"body", Request{Method: "POST", URL: "http://a.test/", Body: []byte("hello")},
			"POST / HTTP/1.1|Host: a.test|Content-Length: 5|" + agent + "||hello"},
		{"empty body", Request{Method: "POST", URL: "http://a.test/"}, "POST / HTTP/1.1|Host: a.test|Content-Length: 0|" + agent + "||"},
		{"body of a GET", Request{URL: "http://a.test/", Body: []byte("hello")}, "GET / HTTP/1.1|Host: a.test|Content-Length: 5|" + agent + "||hello"},
		{"no body of a DELETE", Request{Method: "DELETE", URL: "http://a.test/"}, "DELETE / HTTP/1.1|Host: a.test|" + agent + "||"},
		{"own length", Request{Method: "PUT", URL: "http://a.test/", Body: []byte("hello"), Headers: map[string]string{"content-length": "5"}},
			"PUT / HTTP/1.1|Host: a.test|Content-Length: 5|" + agent + "||hello"},
		{"other method", Request{Method: "PROPFIND", URL: "http://a.test/"}, "PROPFIND / HTTP/1.1|Host: a.test|" + agent + "||"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := render(t, tt.request)
			if want := strings.ReplaceAll(tt.want, "|", "\r\n"); err != nil || got != want {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
		})
	}
}

// An invalid call returns an error that names the mistake, sends nothing and is not counted.
func TestWrongCalls(t *testing.T) {
	t.Parallel()
	header := func(name, value string) map[string]string { return map[string]string{name: value} }
	for _, tt := range []struct {
		name    string
		request Request
		want    string
	}{
		{"no scheme", Request{URL: "a.test/x"}, `url "a.test/x": want http://HOST/PATH or https://HOST/PATH`},
		{"empty", Request{URL: ""}, `url "": want http://`},
		{"other scheme", Request{URL: "ftp://a.test/"}, `url "ftp://a.test/": scheme "ftp": want http or https`},
		{"no host", Request{URL: "http:///x"}, `url "http:///x": no host`},
		{"only a port", Request{URL: "http://:80/x"}, `url "http://:80/x": no host`},
		{"bad port", Request{URL: "http://a.test:x/"}, `url "http://a.test:x/": invalid port`},
		{"port beyond", Request{URL: "http://a.test:65536/"}, `port "65536": want 1 to 65535`},
		{"port 0", Request{URL: "http://a.test:0/"}, `port "0": want 1 to 65535`},
		{"user", Request{URL: "http://me:secret@a.test/"}, `set Options.Auth`},
		{"not ASCII", Request{URL: "http://é.test/"}, `not ASCII`},
		{"space in the host", Request{URL: "http://a b/"}, `url "http://a b/": `},
		{"percent sign in the host", Request{URL: "http://a%25b/"}, `host "a%b": a percent sign is no part of a name`},
		{"CR LF in the path", Request{URL: "http://a.test/x\r\nX: 1"}, `control character`},
		{"CR LF in the host", Request{URL: "http://a.test\r\nX: 1/"}, `url "http://a.test\r\nX: 1/": `},
		{"method with a space", Request{Method: "GET /x", URL: "http://a.test/"}, `method "GET /x" can't be sent`},
		{"CONNECT", Request{Method: "CONNECT", URL: "http://a.test/"}, `method "CONNECT" can't be sent`},
		{"header name", Request{URL: "http://a.test/", Headers: header("X: 1\r\nY", "2")}, `header "X: 1\r\nY": not a header's name`},
		{"empty header name", Request{URL: "http://a.test/", Headers: header("", "2")}, `header "": not a header's name`},
		{"header value", Request{URL: "http://a.test/", Headers: header("X", "1\r\nY: 2")}, `header X: control character in "1\r\nY: 2"`},
		{"transfer coding", Request{URL: "http://a.test/", Headers: header("transfer-encoding", "chunked")}, `set Request.Chunked`},
		{"other length", Request{Method: "POST", URL: "http://a.test/", Headers: header("Content-Length", "4"), Body: []byte("hello")},
			`header Content-Length: "4", but the body has 5 bytes`},
		{"invalid length", Request{Method: "POST", URL: "http://a.test/", Headers: header("Content-Length", "+5"), Body: []byte("hello")},
			`header Content-Length: "+5", but the body has 5 bytes`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantWrong(t, tt.request, tt.want)
		})
	}
}

// A template is used for one request only: a different one is rendered again.
func TestTemplates(t *testing.T) {
	t.Parallel()
	_, c, _ := newClient(t)
	_, family, _ := newClient(t)
	family.c.family, family.c.settings = c.c.family, c.c.settings
	base := Request{Method: "PUT", URL: "http://a.test/x", Headers: map[string]string{"A": "1", "Content-Length": "1"}, Body: []byte("a")}
	prepare := func(c HttpClient, r Request) *template {
		q := &call{request: r}
		if err := c.c.prepare(q); err != nil {
			t.Fatal(err)
		}
		return q.ready
	}
	for range 2 {
		prepare(c, base)
	}
	made := prepare(c, base)
	if made == nil {
		t.Fatal("no template after three calls")
	}
	if prepare(family, base) != made {
		t.Error("a client of the same prefix does not share it")
	}
	for name, change := range map[string]func(r *Request){
		"URL":          func(r *Request) { r.URL = "http://a.test/y" },
		"method":       func(r *Request) { r.Method = "POST" },
		"value":        func(r *Request) { r.Headers["A"] = "2" },
		"name":         func(r *Request) { delete(r.Headers, "A"); r.Headers["B"] = "1" },
		"one more":     func(r *Request) { r.Headers["B"] = "1" },
		"one less":     func(r *Request) { delete(r.Headers, "A") },
		"none at all":  func(r *Request) { r.Headers = nil },
		"other length": func(r *Request) { r.Headers["Content-Length"] = "2"; r.Body = []byte("aa") },
	} {
		r := base
		r.Headers = maps.Clone(base.Headers)
		change(&r)
		if prepare(c, r) == made {
			t.Errorf("%s: the template of another request is used", name)
		}
	}
	if prepare(c, base) != made {
		t.Error("the template is lost")
	}
	// Changing the caller's map does not change a template.
	base.Headers["A"] = "9"
	if prepare(c, base) == made {
		t.Error("the template holds the caller's map")
	}
	// The body is not part of a template, but its length must be that of the Content-Length.
	base.Headers["A"] = "1"
	base.Body = []byte("aa")
	if err := c.c.prepare(&call{request: base}); err == nil {
		t.Error("a wrong Content-Length passed because of the template")
	}
}

func TestManyTargets(t *testing.T) {
	t.Parallel()
	_, c, _ := newClient(t)
	for i := range maxTargets + 10 {
		origin := "http://h" + strings.Repeat("x", i%50) + string(rune('a'+i%26)) + "." + strings.Repeat("y", i/50) + "a"
		for range 2 {
			if tg, err := c.c.family.target(origin); err != nil || tg.origin != origin {
				t.Fatalf("%v, %v", tg, err)
			}
		}
	}
	if n := len(*c.c.family.targets.Load()); n != maxTargets {
		t.Errorf("%d targets kept, want %d", n, maxTargets)
	}
}

// FuzzRequest sends anything a caller may pass: the result is an error, or one request that
// net/http reads back unchanged.
func FuzzRequest(f *testing.F) {
	f.Add("GET", "http://a.test/x?y=z", "A", "1", []byte("body"))
	f.Add("POST", "https://[::1]:1/é \"", "Host", "b.test", []byte{})
	f.Add("GET", "http://a.test/\r\nX: 1", "A\r\nB", "1\r\n\r\nGET / HTTP/1.1", []byte("x"))
	f.Add("DELETE", "http://a.test?#", "Content-Length", "0", []byte{})
	_, c, _ := newClient(f)
	f.Fuzz(func(t *testing.T, method, url, name, value string, body []byte) {
		r := Request{Method: method, URL: url, Headers: map[string]string{name: value}, Body: body}
		for range 3 {
			q := &call{request: r}
			if c.c.prepare(q) != nil {
				return
			}
			cn := conn.New(&replay{})
			if err := q.send(cn); err != nil {
				t.Fatal(err)
			}
			sent := append(q.appendRequest(nil), body...)
			if int(cn.Out()) != len(sent) {
				t.Fatalf("sent %d bytes of %d", cn.Out(), len(sent))
			}
			b := bufio.NewReader(bytes.NewReader(sent))
			got, err := nethttp.ReadRequest(b)
			if err != nil {
				if strings.EqualFold(name, "host") || strings.EqualFold(name, "connection") || strings.EqualFold(name, "trailer") ||
					strings.EqualFold(name, "upgrade") || strings.ContainsAny(url, "%") || strings.HasPrefix(q.path, "//") {
					return // only the server can check it
				}
				t.Fatalf("%q: %v", sent, err)
			}
			gotBody, err := io.ReadAll(got.Body)
			if err != nil || got.Method != method || got.RequestURI != q.path || !bytes.Equal(gotBody, body) {
				t.Fatalf("%q reads as %s %s with %q, %v", sent, got.Method, got.RequestURI, gotBody, err)
			}
			if _, err := b.ReadByte(); err != io.EOF {
				t.Fatalf("%q is more than one request", sent)
			}
		}
	})
}
