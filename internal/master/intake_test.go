package master

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
	"github.com/gobench-io/gobench/internal/wire/compress"
)

// Deliveries before the load is split, as the output of a scenario that prints at its
// start, are accepted, and all that follow.
func TestOutputBeforeTheLoad(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one")
		a := r.of("one")
		a.change(func(*fakeAgent) {
			a.answers = func(c *agentpb.Command) *agentpb.Answer {
				if kind(c) == "arm" {
					a.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Log{Log: &agentpb.Log{Text: []byte("hello\n")}}})
					a.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Note{Note: "so it goes"}})
					for end := time.Now().Add(5 * time.Second); len(a.unsaved()) > 0 && time.Now().Before(end); {
						time.Sleep(time.Millisecond) // until it is stored
					}
				}
				return nil
			}
		})
		for _, early := range []string{"prepare", "arm"} {
			a.change(func(*fakeAgent) {
				before := a.answers
				a.answers = func(c *agentpb.Command) *agentpb.Answer {
					if early == "prepare" && kind(c) == "prepare" {
						a.change(func(*fakeAgent) { a.run, a.epoch = c.Run, c.Epoch })
						c = &agentpb.Command{What: &agentpb.Command_Arm{}}
					}
					return before(c)
				}
			})
			id := r.running(run.Options{}, "one")
			a.batch(10, 0, time.Millisecond)
			a.finish()
			x := r.result(id)
			if x.State != run.Finished || !x.Complete || count(x, "home.http_ok") != 10 || !strings.Contains(fmt.Sprint(x.Notes), "on one: so it goes") {
				t.Errorf("%s: the run is %s (%s), complete %v, counts %d, notes %q", early, x.State, x.Cause, x.Complete, count(x, "home.http_ok"), x.Notes)
			}
		}
	})
}

// I12: of a run that is over, deliveries are dropped if neither the store, after it was
// replaced by a backup, nor the agent has the ones before them; if the agent still has
// those, they are redelivered.
func TestDeliveriesAfterALoss(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one")
		a := r.of("one")
		id := r.running(run.Options{}, "one")
		a.batch(10, 0, time.Millisecond)
		a.finish()
		r.result(id)
		r.until("all is kept", func() bool { return len(a.unsaved()) == 0 })
		send := func(first, number uint64) {
			d := &agentpb.Delivery{Run: id, Agent: "aone", What: &agentpb.Delivery_Note{Note: "from afar"}}
			a.change(func(*fakeAgent) {
				last := a.numbers[runStream{id, stream{"aone", a.epoch}}]
				d.Epoch, d.First, d.Number = a.epoch, last+first, last+number
				a.pending = append(a.pending, d)
			})
			a.send(d)
		}
		send(1, 9)
		send(3, 4)
		r.until("one is given up, and the other not", func() bool { return len(a.unsaved()) == 1 })
		if x := r.result(id); !x.Complete || count(x, "home.http_ok") != 10 || strings.Contains(fmt.Sprint(x.Notes), "from afar") {
			t.Errorf("complete %v, counts %d, notes %q", x.Complete, count(x, "home.http_ok"), x.Notes)
		}
	})
}

// I2, F56: a repeated delivery counts once; one that is early, for an executor of another
// agent, of another epoch or of no run is refused.
func TestDeliveriesCountOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one", "two")
		id := r.running(run.Options{}, "one", "two")
		one, two := r.of("one"), r.of("two")
		first := one.deliverBatch(one.parts[0], one.parts[0].next(10, 0, time.Millisecond))
		for range 5 {
			one.send(first)
		}
		repeats := func() uint64 { return r.figures().Repeats }
		r.until("repeats are counted", func() bool { return repeats() >= 5 })
		for name, d := range map[string]*agentpb.Delivery{
			"a gap":              {Run: id, Agent: one.id, Epoch: 1, Number: 7, What: first.What},
			"another's executor": {Run: id, Agent: two.id, Epoch: 1, Number: 1, Executor: 0, What: first.What},
			"no executor":        {Run: id, Agent: two.id, Epoch: 1, Number: 1, Executor: 99, What: first.What},
			"another epoch":      {Run: id, Agent: one.id, Epoch: 2, Number: 1, What: first.What},
			"no run":             {Run: run.NewID(time.Now()), Agent: one.id, Epoch: 1, Number: 1, What: first.What},
			"no run's name":      {Run: "../../x", Agent: one.id, Epoch: 1, Number: 1, What: first.What},
			"another agent":      {Run: id, Agent: "nobody", Epoch: 1, Number: 1, What: first.What},
			"nothing":            {Run: id, Agent: "nobody", Epoch: 3, Number: 1},
		} {
			one.send(d)
			_ = name
		}
		one.deliver(&agentpb.Delivery{What: first.What}) // the same batch, as another delivery
		one.deliver(&agentpb.Delivery{Executor: 0, What: first.What})
		two.batch(10, 0, time.Millisecond)
		one.finish()
		two.finish()
		x := r.result(id)
		if all := r.seconds(id); all != 20 {
			t.Errorf("the series adds up to %d, want 20", all)
		}
		if x.State != run.Finished || !x.Complete || count(x, "home.http_ok") != 20 {
			t.Errorf("the run is %s (%s), complete %v (%q), counts %d, want 20", x.State, x.Cause, x.Complete, x.Missing, count(x, "home.http_ok"))
		}
	})
}

// seconds returns the sum of the answers in a run's series.
func (r *rig) seconds(id string) (all int64) {
	r.t.Helper()
	err := r.Series(context.Background(), run.SeriesQuery{Run: id}, func(i run.Interval) error {
		if n := i.Metrics["home.http_ok"].Count; n != nil {
			all += *n
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

// F49: a batch that no executor can have counted is left out, with all later ones of that
// executor, and the result notes it. Others count.
func TestBatchesThatLie(t *testing.T) {
	t.Parallel()
	for name, lie := range map[string]func(*wire.Batch){
		"a metric that is not declared": func(b *wire.Batch) { b.Counters = append(b.Counters, &wire.Counter{Metric: 77, Add: 1}) },
		"a counter goes down":           func(b *wire.Batch) { b.Counters[0].Add = -5 },
		"a histogram that is none":      func(b *wire.Batch) { b.Histograms[0].Counts = []byte{0xff, 0xff, 0xff} },
		"a counter as a histogram":      func(b *wire.Batch) { b.Histograms[0].Metric = 0 },
		"a number that is left out":     func(b *wire.Batch) { b.Seq += 3 },
		"time that goes back":           func(b *wire.Batch) { b.ToNs = 1 },
		"time that is to come":          func(b *wire.Batch) { b.ToNs = 1 << 62 },
		"no batch at all":               nil,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, "one", "two")
				id := r.running(run.Options{}, "one", "two")
				one, two := r.of("one"), r.of("two")
				one.batch(10, 0, time.Millisecond)
				two.batch(10, 0, time.Millisecond)
				b := one.parts[0].next(1000, 0, time.Millisecond)
				if lie == nil {
					one.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Batch{Batch: []byte("\xff\xffno")}})
				} else {
					lie(b)
					one.deliverBatch(one.parts[0], b)
				}
				one.batch(1000, 0, time.Millisecond)
				one.finish()
				two.batch(10, 0, time.Millisecond)
				two.finish()
				x := r.result(id)
				if x.State != run.Finished || x.Complete || count(x, "home.http_ok") != 30 || x.Verdict == run.Valid {
					t.Errorf("the run is %s (%s), %s, complete %v, counts %d, want 30", x.State, x.Cause, x.Verdict, x.Complete, count(x, "home.http_ok"))
				}
				if notes := fmt.Sprint(x.Notes); !strings.Contains(notes, "what executor 0 on one sent is refused from batch") {
					t.Errorf("notes are %q", notes)
				}
				r.until("nothing is left to send", func() bool { return len(one.unsaved()) == 0 })
			})
		})
	}
}

// A batch that can't be unpacked, or becomes many times as large, is invalid; exact
// histograms of metrics that were not counted change nothing.
func TestPackedThatLies(t *testing.T) {
	t.Parallel()
	codec, err := compress.New(compress.Largest)
	if err != nil {
		t.Fatal(err)
	}
	for name, packed := range map[string][]byte{
		"nothing":      nil,
		"no frame":     []byte("hello"),
		"cut":          codec.Pack([]byte("some text that is long enough"))[:12],
		"no batch":     codec.Pack([]byte("\xff\xffno")),
		"64 MiB of 0":  codec.Pack(make([]byte, 64<<20)),
		"an empty one": codec.Pack(nil),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, "one", "two")
				id := r.running(run.Options{}, "one", "two")
				one, two := r.of("one"), r.of("two")
				one.batch(10, 0, time.Millisecond)
				two.batch(10, 0, time.Millisecond)
				one.parts[0].next(1000, 0, time.Millisecond)
				one.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Packed{Packed: packed}})
				one.finish()
				var h hdr.Histogram
				h.Record(5)
				other := h.Append(nil)
				for _, x := range []*agentpb.Exact{
					{},
					{Through: 1, Histograms: []*wire.Recounted{{Metric: 77}}},
					{Through: 1, Histograms: []*wire.Recounted{{Metric: 0, Sent: other, Counted: other}}},
					{Through: 1, Histograms: []*wire.Recounted{{Metric: 2, Sent: other, Counted: other}}},
					{Through: 1, Histograms: []*wire.Recounted{{Metric: 2, Sent: []byte("no"), Counted: other}}},
				} {
					two.deliver(&agentpb.Delivery{Executor: 1, What: &agentpb.Delivery_Exact{Exact: x}})
				}
				two.finish()
				x := r.result(id)
				if x.State != run.Finished || x.Complete || count(x, "home.http_ok") != 20 {
					t.Errorf("the run is %s (%s), complete %v, counts %d, want 20", x.State, x.Cause, x.Complete, count(x, "home.http_ok"))
				}
				notes := fmt.Sprint(x.Notes)
				if !strings.Contains(notes, "what executor 0 on one sent is refused from batch") || !strings.Contains(notes, "the exact histograms of executor 1 on two are refused") {
					t.Errorf("notes are %q", notes)
				}
				r.until("nothing is left to send", func() bool { return len(one.unsaved())+len(two.unsaved()) == 0 })
			})
		})
	}
}

// earlyStore answers the first Taken as it was before anything was committed.
type earlyStore struct {
	Store
	asked int
}

func (s *earlyStore) Taken(ctx context.Context, id string) ([]run.SourceState, []byte, error) {
	if s.asked++; s.asked == 1 {
		return nil, nil, nil
	}
	return s.Store.Taken(ctx, id)
}

// A series can be read while the first commit of a run happens: after what was declared was
// read, and before the parts are.
func TestSeriesDuringTheFirstCommit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one")
		id := r.running(run.Options{}, "one")
		r.of("one").batch(10, 0, time.Millisecond)
		series := func() (all []run.Interval) {
			err := r.Series(context.Background(), run.SeriesQuery{Run: id}, func(i run.Interval) error { all = append(all, i); return nil })
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		r.until("an interval is stored", func() bool { return len(series()) == 1 })
		s := &earlyStore{Store: r.Store}
		r.Store = s
		if all := series(); len(all) != 1 || *all[0].Metrics["home.http_ok"].Count != 10 || s.asked != 2 {
			t.Errorf("after %d reads of what was declared: %+v", s.asked, all)
		}
		r.Store = s.Store
	})
}

// Figures and the series of a run are available while it is active.
func TestWhileItRuns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one", "two")
		id := r.running(run.Options{}, "one", "two")
		for range 3 {
			r.of("one").batch(10, 0, time.Millisecond)
			r.of("two").batch(20, 5, 2*time.Millisecond)
		}
		series := func(q run.SeriesQuery) (all []run.Interval) {
			q.Run = id
			if err := r.Series(context.Background(), q, func(i run.Interval) error { all = append(all, i); return nil }); err != nil {
				t.Fatal(err)
			}
			return all
		}
		r.until("three intervals of all are kept", func() bool { return len(series(run.SeriesQuery{})) == 3 })
		for n, i := range series(run.SeriesQuery{}) {
			if i.From != float64(n) || *i.Metrics["home.http_ok"].Count != 30 || i.Metrics["home.latency"].Times == nil {
				t.Errorf("interval %d from %v has %+v", n, i.From, i.Metrics["home.http_ok"])
			}
		}
		r.until("three intervals of one agent are kept", func() bool { return len(series(run.SeriesQuery{Agent: "atwo"})) == 3 })
		if two := series(run.SeriesQuery{Agent: "atwo", From: time.Second, To: 2 * time.Second}); len(two) != 1 || *two[0].Metrics["home.http_other_fail"].Count != 5 {
			t.Errorf("a second of one agent is %+v", two)
		}
		x, err := r.Result(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		if x.State != run.Running || count(x, "home.http_ok") != 90 || count(x, "home.http_other_fail") != 15 {
			t.Errorf("the result so far is %s, %d, %d", x.State, count(x, "home.http_ok"), count(x, "home.http_other_fail"))
		}
		if err := r.Cancel(context.Background(), id, "somebody"); err != nil {
			t.Fatal(err)
		}
		x = r.result(id)
		if !x.Complete || count(x, "home.http_ok") != 90 {
			t.Errorf("the result is complete %v, %d", x.Complete, count(x, "home.http_ok"))
		}
		again, err := r.store.Result(context.Background(), id)
		if err != nil || count(again, "home.http_ok") != 90 {
			t.Errorf("kept is %+v, %v", again, err)
		}
		sources, _, err := r.store.Taken(context.Background(), id)
		if err != nil || len(sources) != 2 || proto.Size(&agentpb.RecordState{}) != 0 {
			t.Errorf("kept are %d executors, %v", len(sources), err)
		}
	})
}

// fullStore is a store whose disk may be full.
type fullStore struct {
	Store
	full    atomic.Bool
	refused atomic.Int64
}

func (s *fullStore) Take(ctx context.Context, in *run.Intake) error {
	if s.full.Load() {
		s.refused.Add(1)
		return fmt.Errorf("take in: %w", run.ErrFull)
	}
	return s.Store.Take(ctx, in)
}

// A master that ends does not wait for its disk to have space: what it could not store is
// delivered to the next one.
func TestEndsWithFullDisk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one")
		r.end()
		disk := &fullStore{Store: r.store}
		r.with = disk
		r.begin()
		id := r.running(run.Options{}, "one")
		disk.full.Store(true)
		r.of("one").batch(5, 0, time.Millisecond)
		r.until("attempts are far apart", func() bool { return disk.refused.Load() > 7 })
		began := time.Now()
		r.end()
		if took := time.Since(began); took > time.Second {
			t.Errorf("the master ended after %v", took)
		}
		disk.full.Store(false)
		r.begin()
		r.until("the next master has the batch", func() bool { return count(r.result(id), "home.http_ok") == 5 })
	})
}

// A delivery of a run that is deleted while its record is in memory is dropped, and those of
// others are stored.
func TestDeliveryOfADeletedRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one", "two")
		r.of("one").finishes()
		gone := r.submit(run.Options{Agents: []string{"one"}})
		r.result(gone)
		id := r.running(run.Options{Agents: []string{"two"}}, "two")
		if err := r.store.DeleteRun(context.Background(), gone); err != nil { // as retention does
			t.Fatal(err)
		}
		one := r.of("one")
		one.change(func(a *fakeAgent) { a.run, a.epoch = gone, 1 })
		one.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Note{Note: "late"}})
		r.of("two").batch(5, 0, time.Millisecond)
		r.of("two").finish()
		began := time.Now()
		if x := r.result(id); count(x, "home.http_ok") != 5 || time.Since(began) > 10*time.Second {
			t.Errorf("the run is %s (%s), counts %d, after %v", x.State, x.Cause, count(x, "home.http_ok"), time.Since(began))
		}
		r.until("the late delivery is acknowledged", func() bool { return len(one.unsaved()) == 0 })
	})
}
