package merge

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// stored is what a store has of a run: what take passed to it in whole transactions.
type stored struct {
	whole   []byte
	sources [][]byte
	merged  []Part // of all
	own     []Part // of executors
}

// take merges a batch and stores what that changes.
func (k *stored) take(t *testing.T, m *Merger, executor int, b *wire.Batch) (out []run.Interval) {
	t.Helper()
	m.OnPart(func(p Part) { k.merged = append(k.merged, p) })
	must(t, m.Add(executor, b))
	k.own = append(k.own, m.PartOf(executor, b))
	out = m.Intervals(false)
	k.whole, k.sources = m.State(), nil
	for i := range m.Executors() {
		k.sources = append(k.sources, m.SourceState(i))
	}
	return out
}

// reborn returns the merger of a new process.
func (k *stored) reborn(t *testing.T) *Merger {
	t.Helper()
	m, err := Restore(time.Second, k.whole, k.sources)
	must(t, err)
	for _, p := range k.own {
		if p.From >= m.Returned() {
			must(t, m.Reopen(p.Data))
		}
	}
	return m
}

// A run whose master is killed at random points, with an agent that is lost and found
// again, ends with the totals of an undisturbed one; the parts add up to them.
func TestMergerIsBornAgain(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		calm, disturbed, store := New(3, time.Second), New(3, time.Second), new(stored)
		var queues [3][]*wire.Batch
		for e := range queues {
			r, n := newRecorder(), 2+rnd.IntN(6)
			for i := range n {
				for range rnd.IntN(4) {
					r.record(rnd.Int64N(1e9))
				}
				queues[e] = append(queues[e], r.batch(time.Duration(i+1)*time.Second, i == n-1))
			}
			for _, b := range queues[e] {
				must(t, calm.Add(e, b))
			}
		}
		calm.Intervals(true)
		var given []run.Interval
		for len(queues[0])+len(queues[1])+len(queues[2]) > 0 {
			e := rnd.IntN(3)
			if rnd.IntN(5) == 0 {
				disturbed.Lose(e)
			}
			if len(queues[e]) == 0 {
				continue
			}
			given = append(given, store.take(t, disturbed, e, queues[e][0])...)
			queues[e] = queues[e][1:]
			if rnd.IntN(4) == 0 {
				disturbed = store.reborn(t)
			}
		}
		disturbed.OnPart(func(p Part) { store.merged = append(store.merged, p) })
		given = append(given, disturbed.Intervals(true)...)
		want, got := calm.Metrics(), disturbed.Metrics()
		for i := range want { // the spread of a rate is over the intervals as they were shown
			want[i].Spread, got[i].Spread = nil, nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: metrics = %+v, want %+v", seed, got, want)
		}
		if missing := disturbed.Missing(); missing != nil {
			t.Fatalf("seed %d: %q is missing", seed, missing)
		}
		for i := 1; i < len(given); i++ {
			if given[i].From <= given[i-1].From {
				t.Fatalf("seed %d: interval %v s follows %v s", seed, given[i].From, given[i-1].From)
			}
		}
		for name, parts := range map[string][]Part{"merged": store.merged, "executors'": store.own} {
			var data [][]byte
			for _, p := range parts {
				data = append(data, p.Data)
			}
			folded, err := Fold(data)
			must(t, err)
			i, err := disturbed.IntervalOf([][]byte{folded})
			must(t, err)
			for _, m := range want {
				if m.Type != "gauge" && *m.Count > 0 && *i.Metrics[m.Title].Count != *m.Count {
					t.Fatalf("seed %d: the %s parts hold %d of %s, the run counted %d", seed, name, *i.Metrics[m.Title].Count, m.Title, *m.Count)
				}
			}
		}
	}
}

// What a lost executor reports later arrives as a part, and in no interval.
func TestLostExecutors(t *testing.T) {
	m := New(2, time.Second)
	var parts []Part
	m.OnPart(func(p Part) { parts = append(parts, p) })
	a, b := newRecorder(), newRecorder()
	a.record(10)
	must(t, m.Add(0, a.batch(time.Second, true)))
	m.Lose(1)
	if got := m.Intervals(false); len(got) != 1 || *got[0].Metrics["home.open"].Value != 5 {
		t.Fatalf("intervals = %+v, want one with what executor 0 has", got)
	}
	b.record(20)
	b.record(30)
	must(t, m.Add(1, b.batch(time.Second, true)))
	if got := m.Intervals(false); len(got) != 0 {
		t.Errorf("intervals = %+v after theirs was given out", got)
	}
	if len(parts) != 2 || parts[0].From != parts[1].From {
		t.Fatalf("parts = %+v, want two of one time", parts)
	}
	i, err := m.IntervalOf([][]byte{parts[0].Data, parts[1].Data})
	must(t, err)
	if *i.Metrics["home.ok"].Count != 3 || *m.Metrics()[0].Count != 3 {
		t.Errorf("the interval has %d and the run %d, want 3 and 3", *i.Metrics["home.ok"].Count, *m.Metrics()[0].Count)
	}
}

// Executors that join later count from the time they begin.
func TestJoinedExecutors(t *testing.T) {
	m := New(1, time.Second)
	a, b := newRecorder(), newRecorder()
	must(t, m.Add(0, a.batch(time.Second, false)))
	late := m.Join("web-2", 1500*time.Millisecond)
	if err := m.Add(late, b.batch(2*time.Second, false)); err == nil {
		t.Error("a batch from 0 s on is taken of an executor that begins at 1.5 s")
	}
	b = &recorder{from: int64(1500 * time.Millisecond), pending: b.pending}
	must(t, m.Add(late, b.batch(2*time.Second, false)))
	if missing := m.Missing(); len(missing) != 2 || missing[1] != "executor 1 on web-2: its last batch has not come; what it counted after 2.0 s is missing" {
		t.Errorf("missing = %q", missing)
	}
}

func TestRestoreRefusesOtherStates(t *testing.T) {
	m := New(1, time.Second)
	a := newRecorder()
	must(t, m.Add(0, a.batch(time.Second, false)))
	for name, f := range map[string]func() error{
		"a cut state":     func() error { _, err := Restore(time.Second, m.State()[:9], nil); return err },
		"another's state": func() error { _, err := Restore(time.Second, nil, [][]byte{m.SourceState(0)}); return err },
		"a cut part":      func() error { _, err := Fold([][]byte{m.PartOf(0, a.batch(2*time.Second, true)).Data[:3]}); return err },
		"another's part": func() error {
			_, err := New(0, time.Second).IntervalOf([][]byte{m.PartOf(0, a.batch(2*time.Second, true)).Data})
			return err
		},
	} {
		if err := f(); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
