package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// rig is an API that is served on a real listener, for a small master.
type rig struct {
	t      *testing.T
	api    *Server
	master *small
	store  *memory
	url    string
	addr   string
	http   *http.Client
	log    *lines
	tokens map[auth.Role]string // of a user of each role, which is its name too
	taken  atomic.Int64         // bytes the server has read
	end    func() error         // ends the server and waits for it
}

// countedListener counts what its connections' readers take.
type countedListener struct {
	net.Listener
	taken *atomic.Int64
}

func (l *countedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &countedConn{c, l.taken}, nil
}

type countedConn struct {
	net.Conn
	taken *atomic.Int64
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.taken.Add(int64(n))
	return n, err
}

// lines is a log that a test reads.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

const password = "rosy ferry in May"

// cheap is a cost of hashes that tests can pay.
var cheap = Cost{Memory: 64, Passes: 1}

// serve begins a rig that ends with the test, without a goroutine or file left.
func serve(t *testing.T, o Options) *rig {
	t.Helper()
	servers.NoLeaks(t)
	r := &rig{t: t, master: newSmall(), store: newMemory(), log: &lines{}, tokens: map[auth.Role]string{}, http: &http.Client{Transport: &http.Transport{}}}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.HashCost == (Cost{}) {
		o.HashCost = cheap
	}
	o.Log = slog.New(slog.NewTextHandler(r.log, nil))
	api, err := New(r.master, r.store, o)
	if err != nil {
		t.Fatal(err)
	}
	r.api = api
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.addr = l.Addr().String()
	r.url = "http://" + r.addr
	if o.TLS != nil {
		r.url = "https://" + r.addr
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- api.Serve(ctx, &countedListener{l, &r.taken}) }()
	r.end = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() {
		r.http.CloseIdleConnections()
		if err := r.end(); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return r
}

// people makes a user of each role, with a token.
func (r *rig) people() *rig {
	r.t.Helper()
	for _, role := range []auth.Role{auth.Viewer, auth.Tester, auth.Operator, auth.Admin} {
		r.user(string(role), role)
		r.tokens[role] = r.token(string(role), role)
	}
	return r
}

func (r *rig) user(name string, role auth.Role) *auth.User {
	r.t.Helper()
	u, err := r.api.create(r.t.Context(), types.NewUser{Name: name, Role: role, Password: password})
	if err != nil {
		r.t.Fatal(err)
	}
	return u
}

// token makes a token of a user.
func (r *rig) token(user string, role auth.Role) string {
	r.t.Helper()
	u, err := r.store.UserNamed(r.t.Context(), user)
	if err != nil {
		r.t.Fatal(err)
	}
	id, secret, now := auth.NewID(), auth.NewSecret(), r.api.now()
	if err := r.store.PutToken(r.t.Context(), &auth.Token{ID: id, Name: "test", User: u.ID, Role: role, Hash: auth.Hash(secret), Created: now, Expires: now.Add(tokenLife), Used: now}); err != nil {
		r.t.Fatal(err)
	}
	return auth.TokenText(id, secret)
}

// reply is an answer that was read whole.
type reply struct {
	*http.Response
	body string
}

// problem reads an answer that is one.
func (a reply) problem(t *testing.T) types.Problem {
	t.Helper()
	var p types.Problem
	if got := a.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("content type %q of %d %s", got, a.StatusCode, a.body)
	}
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
	if p.Status != a.StatusCode || p.Request == "" || p.Request != a.Header.Get("X-Request-Id") || p.Code == "" {
		t.Errorf("problem %+v of an answer of status %d", p, a.StatusCode)
	}
	return p
}

// decode reads an answer's JSON.
func decode200[T any](t *testing.T, a reply) T {
	t.Helper()
	var v T
	if a.StatusCode/100 != 2 {
		t.Fatalf("status %d: %s", a.StatusCode, a.body)
	}
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
	return v
}

// ask sends a request of JSON as token's owner; headers are name and value in turn.
func (r *rig) ask(token, method, path, body string, headers ...string) reply {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if body == "" {
		req.Body = nil
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		if req.Header.Del(headers[i]); headers[i+1] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	return r.do(req)
}

func (r *rig) do(req *http.Request) reply {
	r.t.Helper()
	answer, err := r.http.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return reply{answer, string(b)}
}

// raw sends bytes as they are and returns all that comes until the server closes the
// connection, or sends nothing more for a moment.
func (r *rig) raw(text string) string {
	r.t.Helper()
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		return ""
	}
	var all []byte
	buf := make([]byte, 4096)
	for wait := 30 * time.Second; ; wait = 300 * time.Millisecond {
		_ = c.SetReadDeadline(time.Now().Add(wait))
		n, err := c.Read(buf)
		all = append(all, buf[:n]...)
		if err != nil {
			return string(all)
		}
	}
}

const scenario = "package main\n\nfunc export() {}\n"

// submission is a body that asks for a run.
func submission(name string) string {
	b, _ := json.Marshal(types.Submission{Name: name, Source: &run.Source{Scenario: scenario}})
	return string(b)
}

// queued submits a run as a tester and returns its id.
func (r *rig) queued() string {
	r.t.Helper()
	return decode200[run.Order](r.t, r.ask(r.tokens[auth.Tester], "POST", "/api/v1/runs", submission("one"))).ID
}

// running submits a run and has it run.
func (r *rig) running() string {
	r.t.Helper()
	id := r.queued()
	r.master.mu.Lock()
	defer r.master.mu.Unlock()
	for _, to := range []run.State{run.Compiling, run.Starting, run.Running} {
		if err := r.master.move(id, to, "master"); err != nil {
			r.t.Fatal(err)
		}
	}
	return id
}

// eventually waits until ok says so.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}
