package bus

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// raw connects with an agent's key or a token, without AgentConn's own restrictions.
func raw(t *testing.T, w *world, o ...nats.Option) (*nats.Conn, <-chan error) {
	t.Helper()
	errs := make(chan error, 1000)
	o = append(o, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { errs <- err }))
	nc, err := nats.Connect(addressList(w.server.Addresses()), append(o, secure(w.server.Pin(), nil)...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc, errs
}

func keyOf(i Identity) nats.Option {
	return nats.Nkey(i.Key, func(nonce []byte) ([]byte, error) {
		sig, err := fromSeed(i.seed).Sign(nonce)
		return sig, err
	})
}

// TestAnAgentKeepsToItsSubjects: B23, and what the holder of a token may not do.
func TestAnAgentKeepsToItsSubjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// The master's own connection receives everything that is let through.
	var mu sync.Mutex
	var through []string
	sub, err := w.master.nc.Subscribe(">", func(m *nats.Msg) {
		mu.Lock()
		defer mu.Unlock()
		through = append(through, m.Subject)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	id := w.identity(t, "a1")
	b := w.dial(t, "a2")
	tok := w.token()
	for _, who := range []struct {
		name      string
		option    nats.Option
		publish   []string
		subscribe []string
	}{
		{"a1", keyOf(id),
			[]string{"gb.d.a2", "gb.f.a2", "gb.r.a2.x", "$KV.gb_agents.a2", "gb.c.a1.cmd", "gb.c.a2.cmd", "gb.c.a2.done", "gb.join",
				"$SYS.REQ.SERVER.PING", "$JS.API.INFO", "$JS.API.STREAM.PURGE.gb_deliveries", "$JS.API.STREAM.MSG.GET.gb_deliveries",
				"$JS.ACK.gb_deliveries.master.1.1.1.1.1", "$JS.FC.x", "_INBOX.a2.x", "$KV.other.a1", "gb.d.a1.x", "anything"},
			[]string{">", "*", "gb.>", "gb.d.a1", "gb.d.*", "gb.c.a2.cmd", "gb.c.*.cmd", "gb.c.>", "gb.join", "gb.r.>", "_INBOX.>", "_INBOX.a2.>",
				"$SYS.>", "$JS.>", "$KV.>", "$KV.gb_agents.a1", "_JOIN.>"}},
		{"join " + tok.ID, nats.UserInfo(tok.ID, tok.Secret),
			[]string{"gb.d.a1", "gb.f.a1", "gb.r.a1.x", "$KV.gb_agents.a1", "gb.c.a1.cmd", "$JS.API.INFO", "$SYS.REQ.SERVER.PING", "_JOIN." + tok.ID + ".x"},
			[]string{">", "gb.>", "gb.join", "_JOIN.>", "_JOIN.*.*", "_JOIN." + tok.ID, "_INBOX.>", "gb.c.a1.cmd"}},
	} {
		nc, errs := raw(t, w, who.option)
		for _, subject := range who.publish {
			if err := nc.Publish(subject, []byte("attack")); err != nil {
				t.Fatal(err)
			}
		}
		got := make(chan *nats.Msg, 100)
		for _, subject := range who.subscribe {
			if _, err := nc.ChanSubscribe(subject, got); err != nil {
				t.Fatal(err)
			}
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		for range len(who.publish) + len(who.subscribe) {
			select {
			case err := <-errs:
				if !errors.Is(err, nats.ErrPermissionViolation) {
					t.Errorf("%s: %v", who.name, err)
				}
			case <-time.After(30 * time.Second):
				t.Fatalf("%s: fewer violations than attacks", who.name)
			}
		}
		for _, subject := range append(who.publish, who.subscribe...) {
			eventually(t, 30*time.Second, "told: "+who.name+" "+subject, w.heard(&w.violations, who.name+" "+subject))
		}
		// Messages that are sent at the same time are not seen.
		if err := b.Deliver(t.Context(), &agentpb.Delivery{Agent: "a2", Run: "r", Number: 1}); err != nil {
			t.Fatal(err)
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		if len(got) > 0 {
			t.Errorf("%s reads %s", who.name, (<-got).Subject)
		}
	}
	if err := w.master.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, subject := range through {
		if subject != "gb.d.a2" && !strings.HasPrefix(subject, "_INBOX.a2.") && !strings.HasPrefix(subject, "$JS.EVENT.") { // of Deliver above, and the server's own
			t.Errorf("%s got through", subject)
		}
	}
}

// TestAnswersGoWhereTheirAgentListens: an agent may name any subject for the answer to its
// requests. It must not be able to write to that subject this way.
func TestAnswersGoWhereTheirAgentListens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	data, b := blob(1000)
	goes(t, func(ctx context.Context) error { return w.master.Serve(ctx, opens(data, b)) })
	goes(t, func(ctx context.Context) error { return w.master.Join(ctx, w.answer) })
	var mu sync.Mutex
	beats, taken := 0, []string{}
	goes(t, func(ctx context.Context) error {
		return w.master.Watch(ctx, func(*agentpb.Beat) { mu.Lock(); beats++; mu.Unlock() }, func(string) {})
	})
	goes(t, func(ctx context.Context) error {
		return w.master.Deliveries(ctx, func(d *agentpb.Delivery, r agentpb.Receipt) error {
			mu.Lock()
			taken = append(taken, d.Agent+" "+d.Run)
			mu.Unlock()
			r.Done()
			return nil
		})
	})
	victim := w.dial(t, "a2")
	goes(t, func(ctx context.Context) error {
		return victim.Commands(ctx, func(context.Context, *agentpb.Command) *agentpb.Answer {
			t.Error("a command was done that the master has not sent")
			return nil
		})
	})
	goes(t, func(ctx context.Context) error {
		return victim.Committed(ctx, func(*agentpb.Committed) { t.Error("committed, and not by the master") })
	})
	nc, errs := raw(t, w, keyOf(w.identity(t, "a1")))
	fetch, _ := proto.Marshal(&agentpb.Fetch{Sha256: b.Sha256})
	mine, _ := proto.Marshal(&agentpb.Delivery{Agent: "a1", Run: "mine"})
	theirs, _ := proto.Marshal(&agentpb.Delivery{Agent: "a2", Run: "forged"})
	subjects := []string{"gb.d.a2", "$KV.gb_agents.a2", "gb.c.a2.cmd", "gb.c.a2.done", "gb.join", "gb.f.a2", "_INBOX.a2.x",
		"$JS.API.STREAM.PURGE.gb_deliveries", "$JS.API.STREAM.DELETE.gb_deliveries", "$JS.API.CONSUMER.DELETE.gb_deliveries.master",
		"$JS.API.CONSUMER.MSG.NEXT.gb_deliveries.master", "$JS.ACK.gb_deliveries.master.1.1.1.1.1"}
	for _, reply := range subjects {
		for _, m := range []*nats.Msg{
			{Subject: "gb.f.a1", Reply: reply, Data: fetch},
			{Subject: "gb.d.a1", Reply: reply, Data: mine},
			{Subject: "gb.d.a1", Reply: reply, Data: theirs},
			{Subject: "gb.d.a1", Data: mine, Header: nats.Header{"Nats-Rollup": {"all"}}},
			{Subject: "gb.d.a1", Data: mine, Header: nats.Header{"Nats-Trace-Dest": {reply}}},
			{Subject: "$KV.gb_agents.a1", Reply: reply, Data: []byte("no beat")},
			{Subject: "$KV.gb_agents.a1", Data: []byte("no beat"), Header: nats.Header{"Nats-Rollup": {"all"}}},
		} {
			if err := nc.PublishMsg(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	// All earlier requests have been answered once this one has arrived. Of what the
	// attacker delivers, the server refuses messages whose reply subject is $JS.ACK.
	if err := victim.Deliver(t.Context(), &agentpb.Delivery{Agent: "a2", Run: "last"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, "all that was delivered", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.Contains(taken, "a2 last") && len(taken) >= len(subjects)
	})
	mu.Lock()
	for _, d := range taken {
		if d != "a1 mine" && d != "a2 last" {
			t.Errorf("taken: %s", d)
		}
	}
	if beats > 0 {
		t.Errorf("%d beats", beats)
	}
	mu.Unlock()
	if info, err := w.master.js.Stream(t.Context(), deliveries); err != nil {
		t.Errorf("the stream is gone: %v", err)
	} else if info.CachedInfo().State.Consumers != 1 {
		t.Errorf("the consumer is gone: %+v", info.CachedInfo().State)
	}
	if len(errs) == 0 {
		t.Error("the attacker heard nothing of it")
	}
}
