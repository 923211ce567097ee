package servers

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestNginx(t *testing.T) {
	NoLeaks(t)
	s := Nginx(t, "location /extra { return 418; }")
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.Roots}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	for _, tt := range []struct {
		method, url string
		status      int
		length      int64 // of the body; -1: unknown
		size        int
	}{
		{"GET", s.URL + "/", 200, int64(len(Index)), len(Index)},
		{"GET", s.TLS + "/", 200, int64(len(Index)), len(Index)},
		{"GET", s.URL + "/big", 200, BigSize, BigSize},
		{"GET", s.URL + "/chunked/index.html", 200, -1, len(Index)},
		{"GET", s.URL + "/close/index.html", 200, int64(len(Index)), len(Index)},
		{"GET", s.URL + "/status/204", 204, 0, 0},
		{"GET", s.URL + "/extra", 418, 0, 0},
		{"PUT", s.URL + "/put/a", 201, 0, 0},
		{"GET", s.URL + "/put/a", 200, 4, 4},
		{"DELETE", s.URL + "/put/a", 204, 0, 0},
	} {
		var body io.Reader
		if tt.method == "PUT" {
			body = strings.NewReader("body")
		}
		req, err := http.NewRequest(tt.method, tt.url, body)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != tt.status || res.ContentLength != tt.length || len(got) != tt.size {
			t.Errorf("%s %s: status %d, length %d, %d bytes, %v; want %d, %d, %d",
				tt.method, tt.url, res.StatusCode, res.ContentLength, len(got), err, tt.status, tt.length, tt.size)
		}
	}
	log := s.Log(t)
	if len(log) != 10 || !slices.Contains(log, "GET /extra 418 2 0 -") {
		t.Errorf("access log: %q", log)
	}
	if _, err := client.Get(s.URL); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after Stop: %v, want refused", err)
	}
}
