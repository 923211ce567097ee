package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// TestCommandsInOrderAndAtOnce: commands are carried out one after the other, but a cancel
// does not wait.
func TestCommandsInOrderAndAtOnce(t *testing.T) {
	t.Parallel()
	times := testTimes
	times.Away = 5 * time.Second // a busy host takes long to connect again
	w := newWorld(t, func(o *ServerOptions) { o.Times = times })
	p, a := w.overLine(t, times)
	if _, err := w.master.Command(t.Context(), &agentpb.Command{Agent: "a1"}); !errors.Is(err, agentpb.ErrNotConnected) {
		t.Errorf("nobody listens: %v", err)
	}
	cancelled := make(chan struct{})
	cancel := sync.OnceFunc(func() { close(cancelled) })
	var mu sync.Mutex
	order := []string{}
	note := func(s string) { mu.Lock(); order = append(order, s); mu.Unlock() }
	goes(t, func(ctx context.Context) error {
		return a.Commands(ctx, func(ctx context.Context, c *agentpb.Command) *agentpb.Answer {
			switch c.What.(type) {
			case *agentpb.Command_Prepare:
				note("prepare")
				<-cancelled // takes long
				note("prepared")
			case *agentpb.Command_Arm:
				note("arm")
			case *agentpb.Command_Cancel:
				cancel()
			}
			return &agentpb.Answer{Data: []byte(c.Id)}
		})
	})
	var wg sync.WaitGroup
	ask := func(c *agentpb.Command) {
		wg.Go(func() {
			c.Agent = "a1"
			got, err := w.master.Command(t.Context(), c)
			if err != nil || string(got.Data) != c.Id {
				t.Errorf("%s: %v, %v", c.Id, got, err)
				cancel() // else Prepare never ends
			}
		})
	}
	eventually(t, 30*time.Second, "the agent's listening", func() bool {
		_, err := w.master.Command(t.Context(), &agentpb.Command{Agent: "a1", What: &agentpb.Command_Ping{}})
		return err == nil
	})
	ask(&agentpb.Command{Id: "p", What: &agentpb.Command_Prepare{}})
	eventually(t, 30*time.Second, "preparing", func() bool { mu.Lock(); defer mu.Unlock(); return len(order) == 1 })
	ask(&agentpb.Command{Id: "a", What: &agentpb.Command_Arm{}})
	if _, err := w.master.Command(t.Context(), &agentpb.Command{Agent: "a1", What: &agentpb.Command_Ping{}}); err != nil {
		t.Errorf("ping meanwhile: %v", err)
	}
	// The connection is lost before the answers: the master sends the commands again, and
	// each is carried out once.
	p.cut()
	eventually(t, 30*time.Second, "back", func() bool { up, _ := a.state(); return up })
	ask(&agentpb.Command{Id: "c", What: &agentpb.Command_Cancel{}})
	wg.Wait()
	if want := []string{"prepare", "prepared", "arm"}; !slices.Equal(order, want) {
		t.Errorf("done: %v, want %v", order, want)
	}
}

// TestCommandsOfOthersAndOldOnes: only the master's commands are carried out, and each
// once.
func TestCommandsOfOthersAndOldOnes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.dial(t, "a1")
	var mu sync.Mutex
	done := map[string]int{}
	stop := goes(t, func(ctx context.Context) error {
		return a.Commands(ctx, func(_ context.Context, c *agentpb.Command) *agentpb.Answer {
			mu.Lock()
			defer mu.Unlock()
			done[c.Id]++
			return &agentpb.Answer{Data: []byte(fmt.Sprint(done[c.Id]))}
		})
	})
	var seen []*nats.Msg // what went over the bus, to be replayed
	sub, err := w.master.nc.Subscribe("gb.c.a1.cmd", func(m *nats.Msg) { mu.Lock(); seen = append(seen, m); mu.Unlock() })
	if err != nil {
		t.Fatal(err)
	}
	send := func(id string) *agentpb.Answer {
		t.Helper()
		var answer *agentpb.Answer
		eventually(t, 30*time.Second, "an answer", func() bool {
			var err error
			answer, err = w.master.Command(t.Context(), &agentpb.Command{Id: id, Agent: "a1", What: &agentpb.Command_Release{Release: &agentpb.Release{}}})
			return err == nil
		})
		return answer
	}
	for _, id := range []string{"x", "x", "y"} {
		if got := send(id); string(got.Data) != "1" {
			t.Errorf("%s was done %s times", id, got.Data)
		}
	}
	if err := errors.Join(w.master.nc.Flush(), sub.Unsubscribe()); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	old := slices.Clone(seen)
	mu.Unlock()
	if len(old) < 4 { // there was a challenge between them
		t.Fatalf("%d commands seen", len(old))
	}
	ask := func(m *nats.Msg) *nats.Msg {
		t.Helper()
		reply, in, closed := w.master.asked.ask("a1")
		defer closed()
		m.Reply = reply
		if err := w.master.nc.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
		answer, err := await(t.Context(), in, 30*time.Second)
		if err != nil || answer == nil {
			t.Fatalf("no answer: %v", err)
		}
		return answer
	}
	for _, m := range old {
		ask(m)
	}
	// Signed with another key, for another agent, changed, and with another number or
	// session.
	last := old[len(old)-1]
	forged := func(change func(*nats.Msg)) *nats.Msg {
		m := nats.NewMsg(last.Subject)
		m.Data = slices.Clone(last.Data)
		for k := range last.Header {
			m.Header.Set(k, last.Header.Get(k))
		}
		change(m)
		return m
	}
	for _, m := range []*nats.Msg{
		forged(func(m *nats.Msg) { m.Header.Set(numberHeader, "1000") }),
		forged(func(m *nats.Msg) { m.Header.Set(sessionHeader, "other") }),
		forged(func(m *nats.Msg) { m.Header.Del(signatureHeader) }),
		forged(func(m *nats.Msg) { m.Data[len(m.Data)-1] ^= 1 }),
		forged(func(m *nats.Msg) { m.Header.Set(numberHeader, "1000"); _ = sign(m, fromSeed(w.identity(t, "a9").seed)) }),
	} {
		if answer, err := readAnswer(ask(m)); err != nil || answer.Code != "signature" {
			t.Errorf("%v, %v", answer, err)
		}
	}
	theirs := forged(func(m *nats.Msg) {
		m.Data, _ = proto.Marshal(&agentpb.Command{Id: "z", Agent: "a2", What: &agentpb.Command_Release{Release: &agentpb.Release{}}})
		m.Header.Set(numberHeader, "1001")
		_ = sign(m, w.master.key)
	})
	if answer, err := readAnswer(ask(theirs)); err != nil || answer.Code != "unknown" {
		t.Errorf("a command for another agent: %v, %v", answer, err)
	}
	stop()
	// The agent's next session does not know the previous one, and does not accept its
	// commands.
	i := w.identity(t, "a1")
	a.Close()
	next := dial(t, i)
	goes(t, func(ctx context.Context) error {
		return next.Commands(ctx, func(_ context.Context, c *agentpb.Command) *agentpb.Answer {
			mu.Lock()
			defer mu.Unlock()
			done[c.Id]++
			return &agentpb.Answer{}
		})
	})
	send("w")
	for _, m := range old {
		ask(m)
	}
	mu.Lock()
	defer mu.Unlock()
	for id, n := range done {
		if n != 1 {
			t.Errorf("%s was done %d times", id, n)
		}
	}
	if len(done) != 3 {
		t.Errorf("done: %v", done)
	}
}

// An agent that answers each command with a challenge does not keep the master busy.
func TestAnAgentThatAlwaysChallenges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.dial(t, "a1")
	var challenges atomic.Int64
	sub, err := a.nc.Subscribe("gb.c.a1.cmd", func(m *nats.Msg) {
		challenges.Add(1)
		a.challenge(m)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Unsubscribe()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := w.master.Command(ctx, &agentpb.Command{Agent: "a1", What: &agentpb.Command_Ping{}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if n, most := challenges.Load(), int64(8*(time.Since(began)/(100*time.Millisecond)+2)); n == 0 || n > most {
		t.Errorf("%d challenges, want at most %d", n, most)
	}
}
