package bus

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/gobench-io/gobench/internal/agent"
	"github.com/gobench-io/gobench/internal/master"
	"github.com/gobench-io/gobench/internal/testing/servers"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// The two sides implement the interfaces of the master and of agents.
var (
	_ master.Bus = (*MasterConn)(nil)
	_ agent.Bus  = (*AgentConn)(nil)
)

// testTimes are short. Pings keep their default: a busy host must not end a connection.
var testTimes = Times{Reconnect: 50 * time.Millisecond, Registry: 3 * time.Second, Redeliver: time.Second, Retry: 50 * time.Millisecond,
	Heartbeat: minHeartbeat, Resend: time.Second, Away: 500 * time.Millisecond, Leader: 100 * time.Millisecond}

// world is a master with its embedded server, and the agents and tokens that it knows.
type world struct {
	dir    string
	seed   []byte
	server *Server
	master *MasterConn

	mu         sync.Mutex
	agents     map[string]string // by public key, without revoked ones
	tokens     map[string][]byte // hash by id, of those that are open
	violations []string
	refused    []string
}

// newWorld starts a master in a new folder. change may change the options of its server.
func newWorld(t *testing.T, change ...func(*ServerOptions)) *world {
	t.Helper()
	seed, err := NewSeed()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{dir: t.TempDir(), seed: seed, agents: map[string]string{}, tokens: map[string][]byte{}}
	w.start(t, change...)
	t.Cleanup(w.stop)
	return w
}

func (w *world) start(t *testing.T, change ...func(*ServerOptions)) {
	t.Helper()
	o := ServerOptions{
		Dir: w.dir,
		Authorize: func(key string) (string, bool) {
			w.mu.Lock()
			defer w.mu.Unlock()
			id, ok := w.agents[key]
			return id, ok
		},
		Invited: func(id string, hash []byte) bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.tokens[id] != nil && bytes.Equal(w.tokens[id], hash)
		},
		OnViolation: func(who, subject string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.violations = append(w.violations, who+" "+subject)
		},
		OnRefused: func(who, _ string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.refused = append(w.refused, who)
		},
		Log:   testLog(t),
		Times: testTimes,
	}
	for _, f := range change {
		f(&o)
	}
	var err error
	if w.server, err = Serve(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	if w.master, err = Master(t.Context(), MasterOptions{Server: w.server, Seed: w.seed, Log: testLog(t)}); err != nil {
		t.Fatal(err)
	}
}

func (w *world) stop() {
	if w.master != nil {
		w.master.Close()
		w.server.Close()
		w.master = nil
	}
}

// token creates an open join token.
func (w *world) token() Token {
	t := NewToken(w.server.Addresses(), w.server.Pin())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tokens[t.ID] = t.Hash()
	return t
}

// answer accepts an agent whose token is open, once.
func (w *world) answer(j *agentpb.Join) *agentpb.Joined {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tokens[j.Token] == nil || !bytes.Equal(w.tokens[j.Token], HashSecret(j.Secret)) {
		return &agentpb.Joined{Error: "this join token has been used", Code: "spent"}
	}
	delete(w.tokens, j.Token)
	id := fmt.Sprintf("a%d", len(w.agents)+1)
	w.agents[j.Key] = id
	return &agentpb.Joined{Agent: id, Cluster: "c"}
}

// identity creates an agent that has joined, without a request.
func (w *world) identity(t *testing.T, id string) Identity {
	t.Helper()
	seed, err := NewSeed()
	if err != nil {
		t.Fatal(err)
	}
	key, err := PublicKey(seed)
	if err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	w.agents[key] = id
	w.mu.Unlock()
	return Identity{Agent: id, Key: key, MasterKey: w.master.PublicKey(), Addresses: w.server.Addresses(), Pin: w.server.Pin(), seed: seed}
}

// dial connects an agent and waits for the connection.
func (w *world) dial(t *testing.T, id string) *AgentConn {
	t.Helper()
	return dial(t, w.identity(t, id))
}

func dial(t *testing.T, i Identity) *AgentConn {
	t.Helper()
	return dialWith(t, i, testTimes)
}

func dialWith(t *testing.T, i Identity, times Times) *AgentConn {
	t.Helper()
	a, err := Dial(i, AgentOptions{Log: testLog(t), Times: times})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := a.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	return a
}

func testLog(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// goes runs f until the test ends or stop is called, which wait for it.
func goes(t *testing.T, f func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("%v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// eventually waits until ok returns true.
func eventually(t *testing.T, d time.Duration, what string, ok func() bool) time.Duration {
	t.Helper()
	begun := time.Now()
	for !ok() {
		if time.Since(begun) > d {
			t.Fatalf("after %v: not yet %s", d, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
	return time.Since(begun)
}

// offer sends v unless c is full: a callback that waited for its test would hang it.
func offer[T any](c chan<- T, v T) {
	select {
	case c <- v:
	default:
	}
}

// receive returns the next value of c.
func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(2 * time.Minute):
		t.Fatal("nothing came within 2 minutes")
		panic("not reached")
	}
}

// file is a blob in memory.
type file struct{ *bytes.Reader }

func (f file) Close() error { return nil }
func (f file) Size() int64  { return f.Reader.Size() }

// blob returns a random file and its Blob.
func blob(n int) ([]byte, *agentpb.Blob) {
	b := make([]byte, n)
	rand.Read(b)
	sum := sha256.Sum256(b)
	return b, &agentpb.Blob{Sha256: hex.EncodeToString(sum[:]), Size: int64(n)}
}

// opens serves one file.
func opens(data []byte, b *agentpb.Blob) func(string) (agentpb.File, error) {
	return func(sum string) (agentpb.File, error) {
		if sum != b.Sha256 {
			return nil, errors.New("no such blob")
		}
		return file{bytes.NewReader(data)}, nil
	}
}

func TestAnAgentJoinsAndWorks(t *testing.T) {
	servers.NoLeaks(t)
	w := newWorld(t)
	goes(t, func(ctx context.Context) error { return w.master.Join(ctx, w.answer) })
	dir := t.TempDir()
	joined, err := Join(t.Context(), w.token().String(), JoinOptions{Dir: dir, Hello: &agentpb.Hello{Name: "h"}, Log: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	i, err := ReadIdentity(dir)
	if err != nil {
		t.Fatal(err)
	}
	if i.Agent != joined.Agent || i.Agent != "a1" || i.MasterKey != w.master.PublicKey() || i.Pin != w.server.Pin() || i.Cluster != "c" {
		t.Errorf("identity = %+v", i)
	}
	a := dial(t, i)

	beats := make(chan *agentpb.Beat, 10)
	goes(t, func(ctx context.Context) error {
		return w.master.Watch(ctx, func(b *agentpb.Beat) { offer(beats, b) }, func(string) {})
	})
	eventually(t, 30*time.Second, "a beat", func() bool {
		if err := a.Beat(t.Context(), &agentpb.Beat{Agent: "a1", Count: 7}); err != nil {
			t.Fatal(err)
		}
		return len(beats) > 0
	})
	if b := receive(t, beats); b.Agent != "a1" || b.Count != 7 {
		t.Errorf("beat = %v", b)
	}

	goes(t, func(ctx context.Context) error {
		return a.Commands(ctx, func(_ context.Context, c *agentpb.Command) *agentpb.Answer {
			return &agentpb.Answer{Data: []byte(c.Run)}
		})
	})
	var answer *agentpb.Answer
	eventually(t, 30*time.Second, "an answer", func() bool {
		answer, err = w.master.Command(t.Context(), &agentpb.Command{Agent: "a1", Run: "r", What: &agentpb.Command_Release{Release: &agentpb.Release{}}})
		return !errors.Is(err, master.ErrNotConnected)
	})
	if err != nil || string(answer.Data) != "r" || answer.SentNs < answer.ReceivedNs || answer.ReceivedNs == 0 {
		t.Errorf("answer = %v, %v", answer, err)
	}

	taken := make(chan uint64, 10)
	goes(t, func(ctx context.Context) error {
		return w.master.Deliveries(ctx, func(d *agentpb.Delivery, r agentpb.Receipt) error {
			offer(taken, d.Number)
			r.Done()
			return nil
		})
	})
	for n := range uint64(3) {
		if err := a.Deliver(t.Context(), &agentpb.Delivery{Run: "r", Agent: "a1", Number: n + 1}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range uint64(3) {
		if got := receive(t, taken); got != n+1 {
			t.Errorf("delivery %d came as the %d.", got, n+1)
		}
	}

	committed := make(chan *agentpb.Committed, 10)
	goes(t, func(ctx context.Context) error {
		return a.Committed(ctx, func(c *agentpb.Committed) { offer(committed, c) })
	})
	eventually(t, 30*time.Second, "committed", func() bool {
		if err := w.master.Committed(t.Context(), "a1", &agentpb.Committed{Run: "r", Number: 3}); err != nil {
			t.Fatal(err)
		}
		return len(committed) > 0
	})
	if c := receive(t, committed); c.Number != 3 {
		t.Errorf("committed = %v", c)
	}

	data, b := blob(3_000_000)
	goes(t, func(ctx context.Context) error { return w.master.Serve(ctx, opens(data, b)) })
	goes(t, func(ctx context.Context) error { return a.Serve(ctx, opens(data, b)) })
	var got bytes.Buffer
	if err := a.Fetch(t.Context(), b, 1000, &got); err != nil || !bytes.Equal(got.Bytes(), data[1000:]) {
		t.Errorf("the agent fetched %d bytes, %v", got.Len(), err)
	}
	got.Reset()
	if err := w.master.Fetch(t.Context(), "a1", b, &got); err != nil || !bytes.Equal(got.Bytes(), data) {
		t.Errorf("the master fetched %d bytes, %v", got.Len(), err)
	}
	if len(w.violations)+len(w.refused) > 0 {
		t.Errorf("violations %q, refused %q", w.violations, w.refused)
	}
}

// fromSeed returns the key pair of a valid seed.
func fromSeed(seed []byte) nkeys.KeyPair {
	pair, err := nkeys.FromSeed(seed)
	if err != nil {
		panic(err)
	}
	return pair
}
