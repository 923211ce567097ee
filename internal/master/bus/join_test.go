package bus

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

func (w *world) heard(list *[]string, what string) func() bool {
	return func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.Contains(*list, what)
	}
}

// TestTokensThatAreNotGood: B22. With an invalid token no subject is accessible.
func TestTokensThatAreNotGood(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	goes(t, func(ctx context.Context) error { return w.master.Join(ctx, w.answer) })
	spent, expired := w.token(), w.token()
	if _, err := Join(t.Context(), spent.String(), JoinOptions{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	delete(w.tokens, expired.ID)
	w.mu.Unlock()
	open := w.token()
	another := w.token()
	another.Secret = open.Secret // of another token
	unknown := NewToken(w.server.Addresses(), w.server.Pin())
	for name, tok := range map[string]Token{"spent": spent, "expired": expired, "another's": another, "unknown": unknown} {
		_, err := Join(t.Context(), tok.String(), JoinOptions{Dir: t.TempDir()})
		if !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s: %v", name, err)
		}
		eventually(t, 30*time.Second, "told that it was refused", w.heard(&w.refused, "join "+tok.ID))
	}
	// A valid one still works.
	if _, err := Join(t.Context(), open.String(), JoinOptions{Dir: t.TempDir()}); err != nil {
		t.Error(err)
	}
}

// TestATokenIsSpentOnce: 20 at the same time, of which the answer accepts one.
func TestATokenIsSpentOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	goes(t, func(ctx context.Context) error { return w.master.Join(ctx, w.answer) })
	text := w.token().String()
	errs := make([]error, 20)
	var wg sync.WaitGroup
	for i := range errs {
		dir := t.TempDir()
		wg.Go(func() { _, errs[i] = Join(t.Context(), text, JoinOptions{Dir: dir}) })
	}
	wg.Wait()
	joined := 0
	for _, err := range errs {
		var refused *JoinError
		switch {
		case err == nil:
			joined++
		case errors.As(err, &refused) && refused.Code == "spent", errors.Is(err, nats.ErrAuthorization):
		default:
			t.Errorf("%v", err)
		}
	}
	if joined != 1 {
		t.Errorf("%d joined with one token", joined)
	}
}

// TestNobodyElseIsTheMaster: another server is refused, even with the master's address or
// with the master's name at the port.
func TestNobodyElseIsTheMaster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.identity(t, "a1")
	other := newWorld(t)
	other.mu.Lock()
	other.agents[i.Key] = "a1" // it would accept the agent
	other.mu.Unlock()
	i.Addresses = other.server.Addresses()
	tok := w.token()
	tok.Addresses = i.Addresses
	if _, err := Join(t.Context(), tok.String(), JoinOptions{Dir: t.TempDir()}); !errors.Is(err, ErrPin) {
		t.Errorf("Join: %v", err)
	}
	i.Pin = sha256.Sum256([]byte("x"))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	a, err := Dial(i, AgentOptions{Log: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "another authority") {
		t.Errorf("Wait: %v", err)
	}
	for _, o := range [][]nats.Option{
		{nats.UserInfo(masterUser, w.server.admit.secret)}, {nats.UserInfo("master", "")}, {nats.UserInfo("", "")}, {},
		{nats.Nkey(i.Key, func([]byte) ([]byte, error) { return make([]byte, 64), nil })},
		{keyOf(other.identity(t, "a9"))},
		{nats.UserInfo(tok.ID, "")}, {nats.UserInfo("a1", "")}, {nats.Token("x")},
	} {
		nc, err := nats.Connect(addressList(w.server.Addresses()), append(append(o, nats.Timeout(time.Minute)), secure(w.server.Pin(), nil)...)...) // a busy host answers late
		if !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%v", err)
		}
		if err == nil {
			nc.Close()
		}
	}
	// Without TLS the server does not even send its greeting.
	if _, err := nats.Connect("nats://"+w.server.Addresses()[0], nats.Timeout(time.Second)); err == nil {
		t.Error("connected without TLS")
	}
}

// TestARevokedAgentIsCut at once, and can't reconnect.
func TestARevokedAgentIsCut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.identity(t, "a1")
	a, b := dial(t, i), w.dial(t, "a2")
	w.mu.Lock()
	delete(w.agents, i.Key)
	w.mu.Unlock()
	begun := time.Now()
	w.master.Kick("a1")
	took := eventually(t, 30*time.Second, "cut", func() bool { up, _ := a.state(); return !up })
	eventually(t, 30*time.Second, "refused", w.heard(&w.refused, i.Key))
	if up, since := b.state(); !up || since.After(begun) {
		t.Error("another agent was cut too")
	}
	if err := a.Beat(t.Context(), &agentpb.Beat{Agent: "a1"}); err == nil {
		t.Error("a revoked agent beats")
	}
	t.Logf("cut after %v", took)
	// When the revocation is reverted, it reconnects by itself.
	w.mu.Lock()
	w.agents[i.Key] = "a1"
	w.mu.Unlock()
	eventually(t, 30*time.Second, "back", func() bool { up, _ := a.state(); return up })
}

// TestServerKeepsToItself: where it listens, and which of its files others may read.
func TestServerKeepsToItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, a := range w.server.Addresses() {
		if !strings.HasPrefix(a, "127.0.0.1:") {
			t.Errorf("listens at %s", a)
		}
	}
	for name, want := range map[string]os.FileMode{"": 0o700, "ca.pem": 0o600} {
		info, err := os.Stat(filepath.Join(w.dir, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%q: %v, %v", name, info.Mode(), err)
		}
	}
	for addr, want := range map[string]string{
		":4222": "0.0.0.0:4222", "127.0.0.1": "HOST:PORT", "127.0.0.1:x": "port", "127.0.0.1:70000": "port",
		w.server.Addresses()[0]: "in use",
	} {
		if s, err := Serve(t.Context(), ServerOptions{Dir: t.TempDir(), Listen: addr}); err == nil {
			s.Close()
			t.Errorf("listens at %q", addr)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", addr, err, want)
		}
	}
	// The authority stays the same over restarts; a damaged one is an error, not replaced.
	pin := w.server.Pin()
	w.stop()
	w.start(t)
	if w.server.Pin() != pin {
		t.Error("another authority after a restart")
	}
	w.stop()
	if err := os.WriteFile(filepath.Join(w.dir, "ca.pem"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := Serve(t.Context(), ServerOptions{Dir: w.dir}); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("with a damaged authority: %v", err)
		if err == nil {
			s.Close()
		}
	}
}

// TestJoinWaitsForTheMaster: a master that is starting does not listen for requests to join
// yet; its own agent may be earlier.
func TestJoinWaitsForTheMaster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	joined := make(chan error, 1)
	go func() {
		_, err := Join(t.Context(), w.token().String(), JoinOptions{Dir: t.TempDir(), Hello: &agentpb.Hello{Name: "h"}, Log: testLog(t)})
		joined <- err
	}()
	eventually(t, 30*time.Second, "the agent's connection", func() bool { return w.server.ns.NumClients() == 2 })
	select {
	case err := <-joined:
		t.Fatalf("Join did not wait: %v", err)
	case <-time.After(500 * time.Millisecond):
	}
	goes(t, func(ctx context.Context) error { return w.master.Join(ctx, w.answer) })
	if err := receive(t, joined); err != nil {
		t.Error(err)
	}
}
