package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/testing/servers"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// TestClusterOfThree: the same code on three real servers, whose leader is killed in the
// middle. Nothing is lost, and duplicates are equal.
func TestClusterOfThree(t *testing.T) {
	t.Parallel()
	nodes, urls, creds := servers.NATSOfThree(t)
	seed, err := NewSeed()
	if err != nil {
		t.Fatal(err)
	}
	times := testTimes
	times.Registry = 0 // the agent of this test seldom beats
	times.Store = time.Second
	m, err := Master(t.Context(), MasterOptions{URL: urls, Creds: creds, Seed: seed, Log: testLog(t), Times: times})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	stream, err := m.js.Stream(t.Context(), deliveries)
	if err != nil {
		t.Fatal(err)
	}
	if got := stream.CachedInfo().Config.Replicas; got != 3 {
		t.Errorf("%d replicas", got)
	}
	if !m.Available() {
		t.Error("not available")
	}

	// An agent joins with credentials.
	tok := NewToken(strings.Split(urls, ","), [32]byte{})
	goes(t, func(ctx context.Context) error {
		return m.Join(ctx, func(j *agentpb.Join) *agentpb.Joined {
			if j.Token != tok.ID || !bytes.Equal(HashSecret(j.Secret), tok.Hash()) {
				return &agentpb.Joined{Error: "unknown", Code: "unknown"}
			}
			return &agentpb.Joined{Agent: "a1", Cluster: "c"}
		})
	})
	dir := t.TempDir()
	eventually(t, time.Minute, "joined", func() bool {
		_, err := Join(t.Context(), tok.String(), JoinOptions{Dir: dir, Creds: creds})
		return err == nil
	})
	i, err := ReadIdentity(dir)
	if err != nil {
		t.Fatal(err)
	}
	a := dialWith(t, i, times)
	goes(t, func(ctx context.Context) error {
		return a.Commands(ctx, func(context.Context, *agentpb.Command) *agentpb.Answer { return &agentpb.Answer{} })
	})
	ping := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := m.Command(ctx, &agentpb.Command{Agent: "a1", What: &agentpb.Command_Ping{Ping: &agentpb.Ping{}}})
		return err
	}
	eventually(t, time.Minute, "answering", func() bool { return ping() == nil })
	var beats, gone atomic.Int64
	goes(t, func(ctx context.Context) error {
		return m.Watch(ctx, func(*agentpb.Beat) { beats.Add(1) }, func(string) { gone.Add(1) })
	})

	const all = 400
	var mu sync.Mutex
	came := map[uint64][]byte{}
	order, repeats := uint64(0), 0
	goes(t, func(ctx context.Context) error {
		return m.Deliveries(ctx, func(d *agentpb.Delivery, r agentpb.Receipt) error {
			b, err := proto.MarshalOptions{Deterministic: true}.Marshal(d)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if before, ok := came[d.Number]; ok {
				repeats++
				if !bytes.Equal(before, b) {
					t.Errorf("delivery %d came again with other bytes", d.Number)
				}
			} else if d.Number != order+1 {
				t.Errorf("delivery %d came after %d", d.Number, order)
			} else {
				order++
			}
			came[d.Number] = b
			r.Done()
			return nil
		})
	})
	var worst atomic.Int64
	sent := make(chan error, 1)
	at := make(chan uint64, all)
	go func() {
		for n := range uint64(all) {
			begun := time.Now()
			err := a.Deliver(t.Context(), &agentpb.Delivery{Agent: "a1", Run: "r", Number: n + 1, What: &agentpb.Delivery_Batch{Batch: fmt.Appendf(nil, "batch %d", n)}})
			if err != nil {
				sent <- err
				return
			}
			worst.Store(max(worst.Load(), int64(time.Since(begun))))
			at <- n
		}
		sent <- nil
	}()
	eventually(t, time.Minute, "deliveries on their way", func() bool { return len(at) > all/4 })
	if stream, err = m.js.Stream(t.Context(), deliveries); err != nil {
		t.Fatal(err)
	}
	var killed *servers.NATSServer
	for _, s := range nodes {
		if s.Name == stream.CachedInfo().Cluster.Leader {
			killed = s
		}
	}
	if killed == nil {
		t.Fatalf("no leader in %+v", stream.CachedInfo().Cluster)
	}
	killed.Kill()
	begun := time.Now()
	if err := receive(t, sent); err != nil {
		t.Fatal(err)
	}
	eventually(t, 60*time.Second, "all that was delivered", func() bool { mu.Lock(); defer mu.Unlock(); return len(came) == all })
	t.Logf("the leader was killed: all was there after %v, worst Deliver %v, %d repeats", time.Since(begun), time.Duration(worst.Load()), repeats)
	eventually(t, time.Minute, "answering again", func() bool { return ping() == nil })
	seen := beats.Load()
	eventually(t, time.Minute, "beating again", func() bool {
		return a.Beat(t.Context(), &agentpb.Beat{Agent: "a1"}) == nil && beats.Load() > seen
	})
	eventually(t, time.Minute, "available", m.Available)

	// One server less, and there is no leader: agents do not become lost because of that.
	var second *servers.NATSServer
	for _, s := range nodes {
		if s != killed {
			second = s
		}
	}
	second.Kill()
	begun = time.Now()
	eventually(t, time.Minute, "connected, and unavailable", func() bool { up, _ := m.state(); return up && !m.Available() })
	t.Logf("seen after %v that there is no leader", time.Since(begun))
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := a.Deliver(short, &agentpb.Delivery{Agent: "a1", Run: "r", Number: all + 1}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Deliver without a leader: %v", err)
	}
	killed.Start(t)
	second.Start(t)
	eventually(t, 60*time.Second, "available again", m.Available)
	if err := a.Deliver(t.Context(), &agentpb.Delivery{Agent: "a1", Run: "r", Number: all + 1}); err != nil {
		t.Error(err)
	}
	eventually(t, time.Minute, "delivered", func() bool { mu.Lock(); defer mu.Unlock(); return len(came) == all+1 })
	if gone.Load() > 0 {
		t.Error("an agent is gone")
	}
}

// TestServersThatAreTooOld are refused, and so are servers whose version can't be parsed.
func TestServersThatAreTooOld(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"2.10.29": false, "2.11.0": true, "2.15.2": true, "2.9.0": false, "3.0.0": true, "1.99.0": false, "": false, "x": false, "2.12.0-RC.1": true,
	} {
		if err := checkVersion(version); (err == nil) != want {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// TestOneServerOfOnesOwn: a single server has one replica, and needs no credentials.
func TestOneServerOfOnesOwn(t *testing.T) {
	t.Parallel()
	s := servers.NATSCluster(t, 1, "")[0]
	seed, err := NewSeed()
	if err != nil {
		t.Fatal(err)
	}
	m, err := Master(t.Context(), MasterOptions{URL: s.URL, Seed: seed, Log: testLog(t), Times: testTimes})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	stream, err := m.js.Stream(t.Context(), deliveries)
	if err != nil || stream.CachedInfo().Config.Replicas != 1 {
		t.Errorf("%+v, %v", stream, err)
	}
	if _, err := Master(t.Context(), MasterOptions{URL: "nats://127.0.0.1:1", Seed: seed}); err == nil {
		t.Error("connected to nobody")
	}
}
