package http

import (
	"bytes"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/testing/servers"
)

// files is a net/http handler that serves the same as the nginx of package servers.
func files() nethttp.Handler {
	var mu sync.Mutex
	stored := map[string][]byte{}
	page := func(w nethttp.ResponseWriter, r *nethttp.Request) {
		nethttp.ServeContent(w, r, "index.html", time.Unix(1e9, 0), strings.NewReader(servers.Index))
	}
	mux := nethttp.NewServeMux()
	mux.HandleFunc("/{$}", page)
	mux.HandleFunc("/big", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		nethttp.ServeContent(w, r, "big", time.Unix(1e9, 0), bytes.NewReader(bytes.Repeat([]byte("0123456789abcdef"), servers.BigSize/16)))
	})
	mux.HandleFunc("/chunked/index.html", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		for i := 0; i < len(servers.Index); i += 100 {
			io.WriteString(w, servers.Index[i:min(i+100, len(servers.Index))])
			w.(nethttp.Flusher).Flush()
		}
	})
	mux.HandleFunc("/close/index.html", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		w.Header().Set("Connection", "close")
		page(w, r)
	})
	mux.HandleFunc("/status/{code}", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		switch code := r.PathValue("code"); code {
		case "204":
			w.WriteHeader(204)
		case "301":
			nethttp.Redirect(w, r, "/", nethttp.StatusMovedPermanently)
		case "404":
			nethttp.NotFound(w, r)
		case "500":
			nethttp.Error(w, "<html>", 500)
		}
	})
	mux.HandleFunc("/put/{name}", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		mu.Lock()
		defer mu.Unlock()
		name := r.PathValue("name")
		body, there := stored[name]
		switch r.Method {
		case "PUT":
			stored[name], _ = io.ReadAll(r.Body)
			w.WriteHeader(map[bool]int{true: 204, false: 201}[there])
		case "DELETE":
			delete(stored, name)
			w.WriteHeader(204)
		default:
			if !there {
				nethttp.NotFound(w, r)
			}
			w.Write(body)
		}
	})
	return mux
}

// The same requests get the same answers from nginx and net/http, plain and over TLS; each is
// counted once, and connections are reused if both sides allow it.
func TestConformance(t *testing.T) {
	t.Parallel()
	ng := servers.Nginx(t)
	plain, secure := httptest.NewServer(files()), httptest.NewTLSServer(files())
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	expect := map[string]string{"Expect": "100-continue"}
	headers := func(pairs ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	index, big := servers.Index, int64(servers.BigSize)
	body := bytes.Repeat([]byte("hello, "), 20000)
	for name, base := range map[string]string{"nginx": ng.URL, "nginx, TLS": ng.TLS, "net/http": plain.URL, "net/http, TLS": secure.URL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, c, rec := newClient(t, Options{InsecureSkipVerify: true})
			var answers, ok, opened int64
			fresh := true
			for _, tt := range []struct {
				request Request
				status  int
				length  int64  // of the body; -1: any
				body    string // its beginning
				header  string // an expected header, as "Name" or "Name: value"
				closes  bool
			}{
				{Request{URL: "/"}, 200, int64(len(index)), index, "Last-Modified", false},
				{Request{URL: "/?a=b#c"}, 200, int64(len(index)), index, "Content-Type", false},
				{Request{Method: "HEAD", URL: "/"}, 200, 0, "", "Content-Length: 615", false},
				{Request{Method: "HEAD", URL: "/big"}, 200, 0, "", "Content-Length", false},
				{Request{Method: "HEAD", URL: "/chunked/index.html"}, 200, 0, "", "", false},
				{Request{URL: "/big"}, 200, big, "0123", "Accept-Ranges: bytes", false},
				{Request{URL: "/big", Headers: headers("Range", "bytes=0-9")}, 206, 10, "0123456789", "Content-Range", false},
				{Request{URL: "/big", Headers: headers("Range", "bytes=99999999-")}, 416, -1, "", "Content-Range", false},
				{Request{URL: "/", Headers: headers("If-None-Match", "*")}, 304, 0, "", "", false},
				{Request{URL: "/chunked/index.html"}, 200, int64(len(index)), index, "Transfer-Encoding: chunked", false},
				{Request{URL: "/close/index.html"}, 200, int64(len(index)), index, "Connection: close", true},
				{Request{URL: "/", Headers: headers("Connection", "close")}, 200, int64(len(index)), index, "Connection: close", true},
				{Request{URL: "/status/204"}, 204, 0, "", "", false},
				{Request{URL: "/status/301"}, 301, -1, "<", "Location", false},
				{Request{URL: "/status/404"}, 404, -1, "", "", false},
				{Request{URL: "/status/500"}, 500, -1, "<html>", "", false},
				{Request{Method: "PUT", URL: "/put/a", Body: body[:5]}, 201, 0, "", "", false},
				{Request{Method: "PUT", URL: "/put/a", Body: body}, 204, 0, "", "", false},
				{Request{URL: "/put/a"}, 200, int64(len(body)), "hello, ", "", false},
				{Request{Method: "PUT", URL: "/put/b", Body: body, Chunked: true}, 201, 0, "", "", false},
				{Request{Method: "PUT", URL: "/put/b", Source: stringSource("streamed")}, 204, 0, "", "", false},
				{Request{URL: "/put/b"}, 200, 8, "streamed", "", false},
				{Request{Method: "PUT", URL: "/put/c", Body: body, Headers: expect}, 201, 0, "", "", false},
				{Request{Method: "PUT", URL: "/put/c", Body: nil}, 204, 0, "", "", false},
				{Request{Method: "DELETE", URL: "/put/c"}, 204, 0, "", "", false},
				{Request{URL: "/put/c"}, 404, -1, "", "", false},
			} {
				r := tt.request
				r.URL = base + strings.Replace(r.URL, "/put/", "/put/"+base[:5], 1) // nginx stores files once
				for _, discard := range []bool{false, true} {
					if r.Discard = discard; discard && r.Method != "" && r.Method != "HEAD" {
						continue // a request that changes the server is sent once
					}
					got, err := c.Do(ctx, r)
					if err != nil {
						t.Fatalf("%s %s: %v", r.Method, tt.request.URL, err)
					}
					answers++
					if tt.status < 300 {
						ok++
					}
					if fresh {
						opened++
					}
					if n := rec.Counts("home.")["connections_opened"]; n != opened {
						t.Errorf("%s %s: %d connections opened, want %d", r.Method, tt.request.URL, n, opened)
						opened = n
					}
					if !discard { // nginx closes after a 500 and announces it; net/http does not
						fresh = got.Header.Get("Connection") == "close"
					}
					if tt.closes && !fresh {
						t.Errorf("%s %s: the connection stays", r.Method, tt.request.URL)
					}
					head, value, exact := strings.Cut(tt.header, ": ")
					switch {
					case got.Status != tt.status:
						t.Errorf("%s %s: %d, want %d", r.Method, tt.request.URL, got.Status, tt.status)
					case discard && (got.Body != nil || got.Header.Get("Date") != ""):
						t.Errorf("%s %s: something was kept", r.Method, tt.request.URL)
					case discard:
					case tt.length >= 0 && int64(len(got.Body)) != tt.length || !strings.HasPrefix(string(got.Body), tt.body):
						t.Errorf("%s %s: %d bytes %.20q, want %d", r.Method, tt.request.URL, len(got.Body), got.Body, tt.length)
					case head != "" && got.Header.Get(head) == "" || exact && !strings.EqualFold(got.Header.Get(head), value):
						t.Errorf("%s %s: %s is %q, want %q", r.Method, tt.request.URL, head, got.Header.Get(head), value)
					}
				}
			}
			got := rec.Counts("home.")
			if got["http_ok"] != ok || got["http_ok"]+got["http_fail"] != answers || got["latency"] != answers || got["ttfb"] != answers || got["http_other_fail"] != 0 {
				t.Errorf("counts %v, want %d answers, %d of them ok", got, answers, ok)
			}
			if got["connections_opened"] != opened || got["connections_reused"] != answers-opened {
				t.Errorf("%d opened, %d reused; want %d, %d", got["connections_opened"], got["connections_reused"], opened, answers-opened)
			}
		})
	}
}
