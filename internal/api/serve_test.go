package api

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/api/client"
	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// TestConnectionsAreCapped is the end of B19: those that do nothing make room.
func TestConnectionsAreCapped(t *testing.T) {
	const most = 20
	r := serve(t, Options{Connections: most}).people()
	id := r.running()
	var idle []net.Conn
	defer func() {
		for _, c := range idle {
			c.Close()
		}
	}()
	for range 10 * most {
		c, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, c)
	}
	if got := r.ask(r.tokens[auth.Viewer], "GET", "/api/v1/runs", ""); got.StatusCode != 200 {
		t.Errorf("among idle ones: %d", got.StatusCode)
	}
	eventually(t, "the first has been closed", func() bool {
		_ = idle[0].SetReadDeadline(time.Now().Add(time.Millisecond))
		_, err := idle[0].Read(make([]byte, 1))
		return err != nil && !strings.Contains(err.Error(), "timeout")
	})
	r.http.CloseIdleConnections()
	for range most { // each keeps its connection at work
		_, lines := r.follow(r.tokens[auth.Viewer], "/api/v1/events?run="+id)
		comes(t, lines, "running")
	}
	answer, err := http.Get(r.url + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != 503 || answer.Header.Get("Retry-After") != "5" {
		t.Errorf("one more than are at work: %d", answer.StatusCode)
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestTLS holds the cookie over TLS, and HTTP/2.
func TestTLS(t *testing.T) {
	ca := servers.NewCA(t)
	trusts := &tls.Config{RootCAs: ca.Pool()}
	r := serve(t, Options{TLS: &tls.Config{Certificates: []tls.Certificate{ca.Certificate(t, servers.Leaf{})}}})
	r.http.Transport = &http.Transport{TLSClientConfig: trusts.Clone(), ForceAttemptHTTP2: true}
	r.people()
	got := r.ask("", "POST", "/api/v1/login", login("viewer", password))
	c, text := cookieOf(t, got)
	if c.Name != "__Host-gobench" || !c.Secure || !c.HttpOnly || c.Path != "/" || c.SameSite != http.SameSiteStrictMode || got.ProtoMajor != 2 {
		t.Errorf("%s: %+v", got.Proto, c)
	}
	if me := r.ask("", "GET", "/api/v1/me", "", "Cookie", text); me.StatusCode != 200 {
		t.Errorf("me: %d", me.StatusCode)
	}
	if me := r.ask("", "GET", "/api/v1/me", "", "Cookie", strings.TrimPrefix(text, "__Host-")); me.StatusCode != 401 {
		t.Errorf("a cookie that another port may have set: %d", me.StatusCode)
	}
	id := r.running()
	_, lines := r.follow(r.tokens[auth.Viewer], "/api/v1/events?run="+id)
	comes(t, lines, "running")

	for _, tt := range []struct {
		address string
		tls     *tls.Config
		say     string
	}{
		{r.url, trusts, ""},
		{r.url, nil, "authority that this host does not trust"},
		{"http://" + r.addr, nil, "use https://"},
	} {
		c, err := client.New(tt.address, client.Options{TLS: tt.tls})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Information(t.Context())
		c.Close()
		if (err == nil) != (tt.say == "") || err != nil && !strings.Contains(err.Error(), tt.say) {
			t.Errorf("%s: %v", tt.address, err)
		}
	}
}

// TestListensForOthers is point 2 of the security design.
func TestListensForOthers(t *testing.T) {
	servers.NoLeaks(t)
	store := newMemory()
	listen := func(o Options) error {
		o.HashCost = cheap
		api, err := New(newSmall(), store, o)
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", "0.0.0.0:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // what may listen ends at once
		return api.Serve(ctx, l)
	}
	secure := &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, io.EOF }}
	if err := listen(Options{}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("plain: %v", err)
	}
	if err := listen(Options{TLS: secure}); err == nil || !strings.Contains(err.Error(), "no user") {
		t.Errorf("without a user: %v", err)
	}
	if err := listen(Options{Insecure: true}); err != nil {
		t.Errorf("insecure: %v", err)
	}
	_ = store.PutUser(t.Context(), &auth.User{ID: "1", Name: "a"})
	if err := listen(Options{TLS: secure}); err != nil {
		t.Errorf("with TLS and a user: %v", err)
	}
}

// TestPanicsAreAnswered holds that a handler's bug is its request's only.
func TestPanicsAreAnswered(t *testing.T) {
	r := serve(t, Options{UI: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/half" {
			_, _ = io.WriteString(w, "half")
		}
		panic("secret bug")
	})})
	got := r.ask("", "GET", "/whole", "")
	if p := got.problem(t); got.StatusCode != 500 || p.Code != types.Internal || strings.Contains(got.body, "secret") {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if !strings.Contains(r.log.String(), "secret bug") {
		t.Error("the log does not say it")
	}
	answer, err := r.http.Get(r.url + "/half")
	if err == nil {
		_, err = io.ReadAll(answer.Body)
		answer.Body.Close()
	}
	if err == nil {
		t.Error("half an answer looks whole")
	}
	if got := r.ask("", "GET", "/healthz", ""); got.StatusCode != 200 {
		t.Errorf("afterwards: %d", got.StatusCode)
	}
}
