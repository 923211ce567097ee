package master

import (
	"cmp"
	"context"
	"io"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/testing/roles"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// fakeBus transfers messages within the process.
type fakeBus struct {
	t      *testing.T
	stop   chan struct{}
	agents sync.WaitGroup // their beats and repeated deliveries

	mu       sync.Mutex
	members  map[string]*fakeAgent
	join     func(*agentpb.Join) *agentpb.Joined
	beat     func(*agentpb.Beat)
	take     func(*agentpb.Delivery, Receipt) error
	leader   bool
	kicked   []string
	released int // receipts
}

func newFakeBus(t *testing.T) *fakeBus {
	return &fakeBus{t: t, stop: make(chan struct{}), members: map[string]*fakeAgent{}, leader: true}
}

func (b *fakeBus) end() { close(b.stop); b.agents.Wait() }

func (b *fakeBus) joined() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.join != nil && b.beat != nil && b.take != nil
}

func (b *fakeBus) while(ctx context.Context, begin, end func()) error {
	b.mu.Lock()
	begin()
	b.mu.Unlock()
	<-ctx.Done()
	b.mu.Lock()
	end()
	b.mu.Unlock()
	return nil
}

func (b *fakeBus) Join(ctx context.Context, answer func(*agentpb.Join) *agentpb.Joined) error {
	return b.while(ctx, func() { b.join = answer }, func() { b.join = nil })
}

func (b *fakeBus) Watch(ctx context.Context, beat func(*agentpb.Beat), _ func(string)) error {
	return b.while(ctx, func() { b.beat = beat }, func() { b.beat = nil })
}

func (b *fakeBus) Deliveries(ctx context.Context, take func(*agentpb.Delivery, Receipt) error) error {
	return b.while(ctx, func() { b.take = take }, func() { b.take = nil })
}

func (b *fakeBus) Serve(ctx context.Context, _ func(string) (Blob, error)) error {
	<-ctx.Done()
	return nil
}

func (b *fakeBus) Fetch(_ context.Context, _ string, _ *agentpb.Blob, w io.Writer) error {
	_, err := w.Write([]byte("profile"))
	return err
}

func (b *fakeBus) Kick(agent string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kicked = append(b.kicked, agent)
}

func (b *fakeBus) Available() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.leader }

func (b *fakeBus) agent(id string) *fakeAgent { b.mu.Lock(); defer b.mu.Unlock(); return b.members[id] }

func (b *fakeBus) Command(ctx context.Context, c *agentpb.Command) (*agentpb.Answer, error) {
	a := b.agent(c.Agent)
	if a == nil {
		return nil, ErrNotConnected
	}
	return a.do(ctx, proto.CloneOf(c))
}

func (b *fakeBus) Committed(_ context.Context, agent string, c *agentpb.Committed) error {
	if a := b.agent(agent); a != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.pending = slices.DeleteFunc(a.pending, func(d *agentpb.Delivery) bool {
			return d.Run == c.Run && d.Epoch == c.Epoch && d.Number <= c.Number
		})
	}
	return nil
}

// fakeAgent carries out commands, and on a stop or a cancel sends all that a run ends with;
// tests change that.
type fakeAgent struct {
	bus *fakeBus
	id  string

	mu       sync.Mutex
	hello    *agentpb.Hello
	boot     uint64
	beats    uint64
	silent   bool                                   // no beats, no answers, no deliveries
	answers  func(*agentpb.Command) *agentpb.Answer // nil, or a nil answer: the usual one
	stuck    bool                                   // ignores a stop or a cancel
	end      *agentpb.Ended                         // of its executors; nil: a usual one
	classes  []*wire.Class
	received []*agentpb.Command
	run      string
	epoch    uint64
	numbers  map[runStream]uint64
	parts    []*fakeExecutor
	pending  []*agentpb.Delivery // not committed
}

// fakeExecutor counts what it has sent.
type fakeExecutor struct {
	number   int
	seq      uint64
	ok, fail int64
	latency  int64
	to       time.Duration
	over     bool
}

func (b *fakeBus) add(id, name string) *fakeAgent {
	a := &fakeAgent{bus: b, id: id, boot: 1, classes: oneClass(), numbers: map[runStream]uint64{},
		hello: &agentpb.Hello{Name: name, Protocol: agentpb.Protocol, Version: "test", Os: runtime.GOOS, Arch: runtime.GOARCH, OpenFiles: 1 << 20}}
	b.mu.Lock()
	b.members[id] = a
	b.mu.Unlock()
	b.agents.Go(a.live)
	return a
}

// live sends beats, and resends what is not committed.
func (a *fakeAgent) live() {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
		case <-a.bus.stop:
			return
		}
		a.mu.Lock()
		a.beats++
		beat := &agentpb.Beat{Agent: a.id, Boot: a.boot, Count: a.beats, Hello: proto.CloneOf(a.hello), Run: a.run, Epoch: a.epoch}
		silent, again := a.silent, slices.Clone(a.pending)
		a.mu.Unlock()
		a.bus.mu.Lock()
		tell := a.bus.beat
		if !a.bus.leader {
			tell = nil
		}
		a.bus.mu.Unlock()
		if silent || tell == nil {
			continue
		}
		tell(beat)
		if n%15 == 14 {
			for _, d := range again {
				a.send(d)
			}
		}
	}
}

// change changes its behaviour.
func (a *fakeAgent) change(f func(*fakeAgent)) { a.mu.Lock(); defer a.mu.Unlock(); f(a) }

// has reports whether it has received a command of some kind.
func (a *fakeAgent) has(what string) bool { return a.times(what) > 0 }

func (a *fakeAgent) times(what string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.received {
		if kind(c) == what {
			n++
		}
	}
	return n
}

func kind(c *agentpb.Command) string {
	m := c.ProtoReflect()
	return string(m.WhichOneof(m.Descriptor().Oneofs().ByName("what")).Name())
}

func (a *fakeAgent) do(ctx context.Context, c *agentpb.Command) (*agentpb.Answer, error) {
	a.mu.Lock()
	silent, answers := a.silent, a.answers
	if !silent {
		a.received = append(a.received, c)
	}
	a.mu.Unlock()
	if silent {
		return nil, ErrNotConnected
	}
	if answers != nil {
		answered := make(chan *agentpb.Answer, 1)
		a.bus.agents.Go(func() { answered <- answers(c) })
		select {
		case answer := <-answered:
			if answer != nil {
				return answer, ctx.Err()
			}
		case <-ctx.Done(): // like a real bus
			return nil, ctx.Err()
		}
	}
	answer := &agentpb.Answer{ReceivedNs: time.Now().UnixNano(), SentNs: time.Now().UnixNano()}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch what := c.What.(type) {
	case *agentpb.Command_Prepare:
		a.run, a.epoch = c.Run, c.Epoch
		for i := range max(what.Prepare.Processes, 1) {
			a.parts = append(a.parts, &fakeExecutor{number: int(what.Prepare.First + i)})
			answer.Hellos = append(answer.Hellos, &wire.Hello{Protocol: wire.Protocol, Go: "go1", Classes: a.classes})
		}
	case *agentpb.Command_Renew:
		if a.run != c.Run {
			answer.Code, answer.Error = "unknown", "there is no such run"
		}
	case *agentpb.Command_Stop, *agentpb.Command_Cancel:
		if !a.stuck && a.run == c.Run {
			a.bus.agents.Go(a.finish)
		}
	case *agentpb.Command_Release:
		if a.run == c.Run {
			a.run, a.parts = "", nil
		}
	}
	return answer, nil
}

// deliver sends a delivery of the active run, and resends it until it is committed.
func (a *fakeAgent) deliver(d *agentpb.Delivery) *agentpb.Delivery {
	a.mu.Lock()
	d.Run, d.Agent, d.Epoch = a.run, a.id, a.epoch
	t := runStream{d.Run, stream{d.Agent, d.Epoch}}
	a.numbers[t]++
	d.Number = a.numbers[t]
	a.pending = append(a.pending, d)
	a.mu.Unlock()
	a.send(d)
	return d
}

// send sends a delivery without changes.
func (a *fakeAgent) send(d *agentpb.Delivery) {
	a.bus.mu.Lock()
	take := a.bus.take
	a.bus.mu.Unlock()
	if take == nil || a.isSilent() {
		return
	}
	_ = take(proto.CloneOf(d), Receipt{Bytes: proto.Size(d), Done: func() { // a refused one is redelivered
		a.bus.mu.Lock()
		defer a.bus.mu.Unlock()
		a.bus.released++
	}})
}

func (a *fakeAgent) isSilent() bool { a.mu.Lock(); defer a.mu.Unlock(); return a.silent }

// batch sends a batch of a second from each executor, with ok successful and fail failed
// operations, all of the same latency.
func (a *fakeAgent) batch(ok, fail int64, latency time.Duration) {
	a.mu.Lock()
	parts := slices.Clone(a.parts)
	a.mu.Unlock()
	for _, e := range parts {
		a.deliverBatch(e, e.next(ok, fail, latency))
	}
}

func (a *fakeAgent) deliverBatch(e *fakeExecutor, b *wire.Batch) *agentpb.Delivery {
	data, err := proto.Marshal(b)
	if err != nil {
		a.bus.t.Error(err)
	}
	return a.deliver(&agentpb.Delivery{Executor: uint32(e.number), What: &agentpb.Delivery_Batch{Batch: data}})
}

// next returns an executor's next batch.
func (e *fakeExecutor) next(ok, fail int64, latency time.Duration) *wire.Batch {
	b := &wire.Batch{Seq: e.seq + 1, FromNs: int64(e.to), ToNs: int64(e.to + time.Second)}
	if e.seq == 0 {
		b.GoUnixNs = time.Now().UnixNano()
		for _, m := range []struct{ title, kind, unit string }{{"home.http_ok", "counter", "N"}, {"home.http_other_fail", "counter", "N"}, {"home.latency", "histogram", "ns"}, {"home.error.timeout", "counter", "N"}} {
			b.Declared = append(b.Declared, roles.Declare(&wire.Metric{Title: m.title, Type: m.kind, Group: "home", Graph: m.title, Unit: m.unit})...)
		}
	}
	e.seq, e.to, e.ok, e.fail, e.latency = e.seq+1, e.to+time.Second, e.ok+ok, e.fail+fail, e.latency+ok+fail
	b.Counters = []*wire.Counter{{Metric: 0, Add: ok}, {Metric: 1, Add: fail}, {Metric: 3, Add: fail}}
	var h hdr.Histogram
	for range ok + fail {
		h.Record(int64(latency))
	}
	b.Histograms = []*wire.Histogram{{Metric: 2, Counts: h.Append(nil)}}
	return b
}

// finish sends all that a run ends with.
func (a *fakeAgent) finish() {
	a.mu.Lock()
	parts := slices.Clone(a.parts)
	a.mu.Unlock()
	for _, e := range parts {
		if e.over {
			continue
		}
		e.over = true
		a.deliver(&agentpb.Delivery{Executor: uint32(e.number), What: &agentpb.Delivery_Stopping{Stopping: 1}})
		b := e.next(0, 0, 0)
		b.Final = e.final()
		a.deliverBatch(e, b)
		a.deliver(&agentpb.Delivery{Executor: uint32(e.number), What: &agentpb.Delivery_Ended{Ended: cmp.Or(a.end, &agentpb.Ended{})}})
	}
	a.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Over{Over: true}})
	a.change(func(a *fakeAgent) { a.run, a.parts = "", nil })
}

// final returns an executor's last message.
func (e *fakeExecutor) final() *wire.Final {
	return &wire.Final{Counters: []*wire.Counter{{Metric: 0, Add: e.ok}, {Metric: 1, Add: e.fail}, {Metric: 3, Add: e.fail}},
		Histograms: []*wire.Counted{{Metric: 2, Count: uint64(e.latency)}}, LoadNs: int64(e.to)}
}

// finishes makes an agent's runs end as soon as they have begun, with a batch.
func (a *fakeAgent) finishes() {
	a.change(func(*fakeAgent) {
		a.answers = func(c *agentpb.Command) *agentpb.Answer {
			if kind(c) == "begin" {
				a.bus.agents.Go(func() { a.batch(10, 0, time.Millisecond); a.finish() })
			}
			return nil
		}
	})
}
