//go:build unix

package main

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestContest runs two tools, played by the test binary, in turn on a real nginx.
func TestContest(t *testing.T) {
	srv, err := startNginx(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer srv.stop()
	t.Setenv("BENCH_CHILD", "get 100")
	var order []string
	play := func(name string) tool {
		return tool{
			name:    name,
			command: func(int) []string { order = append(order, name); return []string{os.Args[0], srv.url()} },
			outcome: func(u usage) (outcome, error) {
				n, err := strconv.ParseFloat(strings.TrimSpace(string(u.stdout)), 64)
				return outcome{requests: n, rate: n / u.wall.Seconds()}, err
			},
		}
	}
	b := &bench{pairs: 2, seconds: 3, log: io.Discard}
	for _, at := range places() {
		order = nil
		shots, err := b.contest(t.Context(), []tool{play("a"), play("b")}, srv, at)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(order, ""); got != "ababab" {
			t.Errorf("%s: order %s, want the warm-up and two turns", at.name, got)
		}
		for name, s := range shots {
			if len(s) != 2 {
				t.Errorf("%s: %d shots of %s", at.name, len(s), name)
			}
			for _, x := range s {
				if x.requests != 100 || x.clientMicros() <= 0 || x.serverMicros() <= 0 || x.rss <= 0 {
					t.Errorf("%s: %s: %+v", at.name, name, x)
				}
			}
		}
	}

	bad := play("bad")
	bad.outcome = func(usage) (outcome, error) { return outcome{requests: 90, failed: 10}, nil }
	_, err = b.contest(t.Context(), []tool{bad}, srv, place{name: "free"})
	var f *failure
	if !errors.As(err, &f) || !strings.Contains(err.Error(), "10 requests failed") {
		t.Errorf("a tool with failed requests: %v", err)
	}
}

func TestNginx(t *testing.T) {
	t.Parallel()
	srv, err := startNginx(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(srv.url())
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if len(body) != 615 || string(body) != page {
		t.Errorf("page of %d bytes: %q", len(body), body)
	}
	for _, addr := range []string{srv.tls, srv.resumed} {
		again, err := insecure().Get("https://" + addr + "/")
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(again.Body)
		again.Body.Close()
		if string(body) != page {
			t.Errorf("page of %d bytes by TLS", len(body))
		}
	}
	posted, err := http.Post(srv.url()+"post", "text/plain", strings.NewReader(strings.Repeat("x", 1<<20)))
	if err != nil {
		t.Fatal(err)
	}
	posted.Body.Close()
	if posted.StatusCode != 200 {
		t.Errorf("POST of 1 MB: %s", posted.Status)
	}
	if n := len(srv.pids()); n != 2 {
		t.Errorf("%d processes, want a master and a worker", n)
	}
	srv.stop()
	if _, err := http.Get(srv.url()); err == nil {
		t.Error("answers after stop")
	}
	if _, err := os.Stat(srv.dir); !os.IsNotExist(err) {
		t.Errorf("left its directory: %v", err)
	}
}

// TestResumption: the sessions of one address can be resumed by a client, those of the
// other cannot.
func TestResumption(t *testing.T) {
	t.Parallel()
	srv, err := startNginx(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer srv.stop()
	for addr, want := range map[string]bool{srv.tls: false, srv.resumed: true} {
		client, resumed := insecure(), false
		for range 2 {
			resp, err := client.Get("https://" + addr + "/")
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body) // tickets arrive with the answer
			resp.Body.Close()
			resumed = resp.TLS.DidResume
			client.CloseIdleConnections()
		}
		if resumed != want {
			t.Errorf("resumed = %v, want %v", resumed, want)
		}
	}
}

func insecure() *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ClientSessionCache: tls.NewLRUClientSessionCache(1)},
	}}
}

// TestStartGrid plays gobench: it sends one request to TARGET.
func TestStartGrid(t *testing.T) {
	t.Setenv("BENCH_CHILD", "gobench")
	b := &bench{pairs: 3, seconds: 1, log: io.Discard}
	g, err := b.startGrid(t.Context(), os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if len(g.rows) != 3 {
		t.Fatalf("rows: %v", g.rows)
	}
	for _, row := range g.rows {
		if ms, err := strconv.ParseFloat(row[2], 64); err != nil || ms <= 0 {
			t.Errorf("row %v: no time", row)
		}
	}

	t.Setenv("BENCH_CHILD", "where") // sends no request
	if _, err := b.startGrid(t.Context(), os.Args[0]); err == nil || !strings.Contains(err.Error(), "no request arrived") {
		t.Errorf("error = %v", err)
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"-tables nosuch", `no table "nosuch"`},
		{"-pairs 0", "at least 1"},
		{"-seconds 0", "at least 1"},
		{"-write -pairs 4", "at least 5 pairs"},
		{"http", `unexpected argument "http"`},
		{"-nosuch", "not defined"},
	} {
		var out bytes.Buffer
		err := run(t.Context(), strings.Fields(tt.args), &out, io.Discard)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("bench %s: %v, want %q", tt.args, err, tt.want)
		}
		if out.Len() > 0 {
			t.Errorf("bench %s printed %q", tt.args, out.String())
		}
	}
}
