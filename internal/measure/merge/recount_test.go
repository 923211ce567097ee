package merge

import (
	"bytes"
	"cmp"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// threeExecutors is a run of three executors, one of which may begin within an interval and
// report late. It returns the run's merger and the parts that a store has of it, by time.
func threeExecutors(t *testing.T, rnd *rand.Rand) (*Merger, []Part) {
	t.Helper()
	m := New(2, time.Second)
	var parts []Part
	m.OnPart(func(p Part) { parts = append(parts, p) })
	warm := time.Duration(rnd.IntN(3)) * 500 * time.Millisecond
	var queues [][]*wire.Batch
	for e := range 3 {
		r := newRecorder()
		if e == 2 {
			r.from = int64(1300 * time.Millisecond)
			m.Join("late", time.Duration(r.from))
		}
		var queue []*wire.Batch
		n := 3 + rnd.IntN(4)
		at := time.Duration(r.from)
		for i := range n {
			for range rnd.IntN(4) {
				r.record(rnd.Int64N(1e9))
			}
			to := at.Truncate(time.Second) + time.Second
			if at < warm && to > warm {
				to = warm
			}
			if i == n-1 {
				to = at + time.Duration(1+rnd.IntN(900))*time.Millisecond
			}
			b := r.batch(to, i == n-1)
			if b.Warmup = to <= warm; rnd.IntN(3) == 0 {
				b.Failures = []*wire.Failure{{Source: "home", Class: []string{"timeout", "reset"}[rnd.IntN(2)], Text: "it failed", Count: 1 + rnd.Int64N(3)}}
			}
			if i == 1 {
				b.Notes = []string{"a note"}
				b.Samples = []*wire.Sample{{Source: "home", Class: "timeout", AtNs: b.FromNs, Text: "GET /"}}
			}
			if b.Final != nil {
				b.Final.LoadNs, b.Final.Refused = b.ToNs, 1
			}
			at, queue = to, append(queue, b)
		}
		queues = append(queues, queue)
	}
	if rnd.IntN(2) == 0 { // its report then comes after the interval was returned
		m.Lose(2)
	}
	for len(queues[0])+len(queues[1])+len(queues[2]) > 0 {
		e := rnd.IntN(3)
		if len(queues[e]) == 0 {
			continue
		}
		must(t, m.Add(e, queues[e][0]))
		queues[e] = queues[e][1:]
		m.Intervals(false)
	}
	m.Intervals(true)
	slices.SortStableFunc(parts, func(a, b Part) int { return cmp.Compare(a.From, b.From) })
	return m, parts
}

// I13: a recount of a run's series has the run's totals, bucket for bucket, with late and
// overlapping parts too.
func TestRecountAddsUp(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		m, parts := threeExecutors(t, rnd)
		var batches []*wire.Batch
		r := m.Recount(func(b *wire.Batch) error { batches = append(batches, b); return nil })
		for _, p := range parts {
			must(t, r.Add(p))
		}
		must(t, r.Close())
		again := New(1, time.Second)
		var errs int64
		for _, b := range batches {
			if err := again.Add(0, b); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for _, i := range again.Intervals(false) {
				errs += i.Errors
			}
		}
		var want int64
		for _, p := range parts {
			i, err := m.IntervalOf([][]byte{p.Data})
			must(t, err)
			want += i.Errors
		}
		if errs != want {
			t.Errorf("seed %d: %d errors in all intervals, want %d", seed, errs, want)
		}
		if missing := again.Missing(); missing != nil {
			t.Errorf("seed %d: missing %q", seed, missing)
		}
		a, b := m.Metrics(), again.Metrics()
		for i := range a {
			if a[i].Title != b[i].Title || !reflect.DeepEqual(a[i].Count, b[i].Count) || !bytes.Equal(a[i].Histogram, b[i].Histogram) {
				t.Errorf("seed %d: %s is %v, want %v", seed, a[i].Title, *b[i].Count, *a[i].Count)
			}
		}
		if !reflect.DeepEqual(m.Failures(), again.Failures()) {
			t.Errorf("seed %d: failures %v, want %v", seed, again.Failures(), m.Failures())
		}
		if !reflect.DeepEqual(m.Notes(), again.Notes()) || !reflect.DeepEqual(m.Samples(), again.Samples()) {
			t.Errorf("seed %d: notes %q and samples %v, want %q and %v", seed, again.Notes(), again.Samples(), m.Notes(), m.Samples())
		}
		if !m.Began().Equal(again.Began()) || m.Load() != again.Load() || m.Refused() != again.Refused() || m.Warmup() != again.Warmup() {
			t.Errorf("seed %d: it began %v, lasted %v, warm-up %v, refused %d, want %v, %v, %v, %d", seed,
				again.Began(), again.Load(), again.Warmup(), again.Refused(), m.Began(), m.Load(), m.Warmup(), m.Refused())
		}
		must(t, again.Agrees(&run.Result{Complete: true, Metrics: a}))
	}
}

// A result that differs from what was merged is refused.
func TestAgrees(t *testing.T) {
	m, _ := threeExecutors(t, rand.New(rand.NewPCG(1, 1)))
	for name, change := range map[string]func(*run.Result){
		"a count":     func(r *run.Result) { *r.Metrics[0].Count++ },
		"a histogram": func(r *run.Result) { r.Metrics[1].Histogram[2] ^= 1 },
		"a title":     func(r *run.Result) { r.Metrics[0].Title = "other" },
		"one less":    func(r *run.Result) { r.Metrics = r.Metrics[1:] },
		"no count":    func(r *run.Result) { r.Metrics[0].Count = nil },
	} {
		r := &run.Result{Complete: true, Metrics: m.Metrics()}
		change(r)
		if err := m.Agrees(r); !errors.Is(err, run.ErrArchive) {
			t.Errorf("%s: %v", name, err)
		}
		if r.Complete = false; m.Agrees(r) != nil {
			t.Errorf("%s of a run that is not complete is refused", name)
		}
	}
}
