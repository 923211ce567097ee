package master

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// F58: a reader that reconnects many times gets each number once, in order.
func TestEventsResume(t *testing.T) {
	t.Parallel()
	e := newEvents(0)
	const n = 3000
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range n {
			e.emit([]string{"a", "b"}[i%2], event.Event{Kind: event.Note, Text: fmt.Sprint(i)})
		}
	}()
	last, got, back := uint64(0), 0, 0
	for deadline := time.Now().Add(20 * time.Second); last < n-1; back++ {
		if time.Now().After(deadline) {
			t.Fatalf("only %d events have come, up to %d", got, last)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ch, err := e.follow(ctx, "a", last, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + back%97 {
			x, ok := <-ch
			if !ok {
				break // too slow
			}
			if x.Run != "a" || x.Number <= last || x.Text != fmt.Sprint(x.Number-1) || x.Number != last+2 && last > 0 {
				t.Fatalf("after %d comes %d %q of run %s", last, x.Number, x.Text, x.Run)
			}
			last = x.Number
			if got++; last >= n-1 {
				break
			}
		}
		cancel()
		for range ch { // until it is closed, with whatever it still holds
		}
	}
	<-done
	if got != n/2 {
		t.Errorf("%d events of %d have come, over %d connections", got, n/2, back)
	}
	if back < 30 {
		t.Errorf("there were only %d connections", back)
	}
	if len(e.readers) != 0 {
		t.Errorf("%d readers are left", len(e.readers))
	}
}

func TestSlowReaderIsLetGo(t *testing.T) {
	t.Parallel()
	e := newEvents(0)
	ch, err := e.follow(t.Context(), "", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range queuedEvents + 10 {
		e.emit("a", event.Event{Text: fmt.Sprint(i)})
	}
	n := uint64(0)
	for x := range ch {
		n = x.Number
	}
	if n != queuedEvents {
		t.Errorf("it was given up to %d, want %d", n, queuedEvents)
	}
	ch, err = e.follow(t.Context(), "", n, nil)
	if err != nil {
		t.Fatal(err)
	}
	if x := <-ch; x.Number != n+1 {
		t.Errorf("it goes on with %d, want %d", x.Number, n+1)
	}
}

func TestEventsThatAreTooOld(t *testing.T) {
	t.Parallel()
	e := newEvents(0)
	for range storedEvents + storedEvents/2 {
		e.emit("a", event.Event{})
	}
	if _, err := e.follow(t.Context(), "", 5, nil); !errors.Is(err, run.ErrTooOld) {
		t.Errorf("an old number: %v", err)
	}
	ch, err := e.follow(t.Context(), "", storedEvents*100, nil) // of another master
	if err != nil || len(ch) == 0 {
		t.Errorf("a number that was never given: %d kept events, %v", len(ch), err)
	}
}

// A reader of a run that a restart of the master ended gets the end: at once, from the master
// after that one too, and however long ago it was. Numbers are above those of the process
// before, so that no reader takes an event for a repeated one.
func TestEndAfterRestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one")
		id := r.running(run.Options{}, "one")
		read := func(after uint64) (all []*event.Numbered) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			ch, err := r.Events(ctx, id, after)
			if err != nil {
				t.Fatal(err)
			}
			for n := range ch {
				if all = append(all, n); n.Kind == event.Ended {
					return all
				}
			}
			t.Fatalf("there is no end after %d: %d events", after, len(all))
			return nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		ch, err := r.Events(ctx, id, 0)
		if err != nil {
			t.Fatal(err)
		}
		last := <-ch
		cancel()
		for n := range ch {
			last = n
		}
		check := func(what string, all []*event.Numbered) {
			t.Helper()
			for _, n := range all {
				if n.Number <= last.Number {
					t.Errorf("%s: number %d follows %d", what, n.Number, last.Number)
				}
				last = n
			}
			if last.State != run.Cancelled || last.Cause != causeRestart || last.Exit == nil || *last.Exit != 130 || last.Run != id || last.Time.IsZero() {
				t.Errorf("%s: it ends with %+v", what, last.Event)
			}
		}
		for _, what := range []string{"the master that ended it", "the next one"} {
			r.end()
			time.Sleep(time.Second)
			r.begin()
			check(what, read(last.Number))
		}
		before := last.Number
		for range storedEvents * 2 {
			r.events.emit("another", event.Event{Kind: event.Note})
		}
		if _, err := r.Events(t.Context(), id, before); !errors.Is(err, run.ErrTooOld) {
			t.Errorf("a number that is too old: %v", err)
		}
		check("long after", read(0))
		x, err := r.Events(t.Context(), "", last.Number)
		if err != nil || len(x) > 0 {
			t.Errorf("the reader of all runs gets %d events more, %v", len(x), err)
		}
	})
}

// F34: a thousand slow readers read all stored events, every fifth slowly: they share the
// events.
func TestManySlowReaders(t *testing.T) {
	e := newEvents(0)
	for range storedEvents {
		e.emit("a", event.Event{Kind: event.Interval})
	}
	inUse := func() int64 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return int64(s.HeapInuse)
	}
	before := inUse()
	const readers, most = 200, 20 << 20 // half of what a thousand dashboards may use
	all := make([]<-chan *event.Numbered, readers)
	for i := range all {
		var err error
		if all[i], err = e.follow(t.Context(), "", 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	for range queuedEvents {
		e.emit("a", event.Event{Kind: event.Interval})
	}
	if grown := inUse() - before; grown > most {
		t.Errorf("%d readers take %d MiB, want %d at most", readers, grown>>20, most>>20)
	}
	for i, ch := range all {
		if len(ch) != storedEvents+queuedEvents {
			t.Fatalf("reader %d has %d events, want %d", i, len(ch), storedEvents+queuedEvents)
		}
		if i%20 > 0 {
			continue // reading everything for all of them takes long
		}
		for n := uint64(1); n <= storedEvents+queuedEvents; n++ {
			if x := <-ch; x == nil || x.Number != n {
				t.Fatalf("reader %d: %v came, want event %d", i, x, n)
			}
		}
	}
}

// Of a run that lasts for days, only the last events have its totals: they are large.
func TestOldEventsHaveNoTotals(t *testing.T) {
	t.Parallel()
	e := newEvents(0)
	for range storedEvents * 2 {
		e.emit("a", event.Event{Kind: event.Interval, Totals: func() event.Totals { return event.Totals{} }})
		e.emit("a", event.Event{Kind: event.Step})
	}
	have := 0
	for i, n := range e.ring {
		if n.Totals == nil {
			continue
		}
		if have++; i < len(e.ring)-2*storedTotals {
			t.Errorf("event %d of %d has totals", i, len(e.ring))
		}
	}
	if have != storedTotals || len(e.totals) > storedTotals {
		t.Errorf("%d events have totals, want %d", have, storedTotals)
	}
}

// The output of executors is read as a whole, from an offset, of one agent, and live; a
// repeated piece is stored once.
func TestLogs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one", "two")
		id := r.running(run.Options{}, "one", "two")
		print := func(agent string, executor uint32, offset int64, text string, dropped int64) *agentpb.Delivery {
			return r.of(agent).deliver(&agentpb.Delivery{Executor: executor, What: &agentpb.Delivery_Log{Log: &agentpb.Log{Offset: offset, Text: []byte(text), Dropped: dropped}}})
		}
		read := func(agent string, offset int64) string {
			return r.printed(run.LogQuery{Run: id, Agent: agent, Offset: offset})
		}
		first := print("one", 0, 0, "hello\n", 0)
		r.until("the line is there", func() bool { return read("", 0) == "hello\n" })
		r.of("one").send(first)
		print("one", 0, 6, "again\n", 0)
		r.until("both are there, once", func() bool { return read("", 0) == "hello\nagain\n" })
		if got := read("aone", 6); got != "again\n" {
			t.Errorf("from an offset: %q", got)
		}
		print("two", 1, 0, "other\n", 7)
		want := "==> aone-000 <==\nhello\nagain\n==> atwo-001 <==\nother\n\n[gobench: 7 more bytes were not stored]\n"
		r.until("all are there", func() bool { return read("", 0) == want })
		if got := read("atwo", 0); got != strings.TrimPrefix(want, "==> aone-000 <==\nhello\nagain\n==> atwo-001 <==\n") {
			t.Errorf("of one agent: %q", got)
		}
		// Dropped output leaves no hole, and a repeated piece, also one sent to a restarted
		// master, is written to the same place.
		for _, piece := range []*agentpb.Log{{Offset: 13, Text: []byte("more\n"), Dropped: 1 << 40}, {Offset: 18 + 1<<40, Text: []byte("last\n")}} {
			for range 2 {
				if err := r.logs.write(id, "atwo", 1, piece); err != nil {
					t.Error(err)
				}
			}
		}
		last := "other\n\n[gobench: 7 more bytes were not stored]\nmore\n\n[gobench: 1099511627776 more bytes were not stored]\nlast\n"
		if got := read("atwo", 0); got != last {
			t.Errorf("after a drop: %q, want %q", got, last)
		}
		for _, piece := range []*agentpb.Log{{Offset: 1 << 60, Text: []byte("far\n")}, {Offset: -7, Text: []byte("no\n")}} { // of a faulty agent
			_ = r.logs.write(id, "atwo", 1, piece)
		}
		if got := read("atwo", 0); len(got) > len(last)+10 {
			t.Errorf("after lies it has %d bytes: %.200q", len(got), got)
		}
		if got, want := r.printed(run.LogQuery{Run: id, After: map[string]int64{"aone-000": 6}}), "==> aone-000 <==\nagain\n==> atwo-001 <==\n"+read("atwo", 0); got != want {
			t.Errorf("after the first line of one: %q, want %q", got, want)
		}
		if got, want := r.printed(run.LogQuery{Run: id, After: map[string]int64{"aone-000": 12, "atwo-001": 6}}), "==> atwo-001 <==\n"+read("atwo", 6); got != want {
			t.Errorf("after some of both: %q, want %q", got, want)
		}
		followed := make(chan string)
		go func() { followed <- r.printed(run.LogQuery{Run: id, Agent: "aone", Follow: true}) }()
		print("one", 0, 12, "the end\n", 0)
		r.of("one").finish()
		r.of("two").finish()
		r.result(id)
		if got := <-followed; got != "hello\nagain\nthe end\n" {
			t.Errorf("followed: %q", got)
		}
		if err := r.Log(t.Context(), run.LogQuery{Run: "20261121-191932-85hmfb"}, nil); !errors.Is(err, run.ErrNotFound) {
			t.Errorf("of no run: %v", err)
		}
	})
}

// Output that can't be stored, during the run and after it, is noted once in the run's report,
// without a path of the master.
func TestLostOutputIsNoted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, late := range []bool{false, true} {
			r := newRig(t, "one")
			id := r.running(run.Options{}, "one")
			if err := os.WriteFile(filepath.Join(r.logs.dir, id), nil, 0o600); err != nil { // no folder can be made there
				t.Fatal(err)
			}
			print := func() {
				for i := range int64(3) {
					r.of("one").deliver(&agentpb.Delivery{What: &agentpb.Delivery_Log{Log: &agentpb.Log{Offset: 6 * i, Text: []byte("hello\n")}}})
				}
			}
			if !late {
				print()
			}
			r.of("one").finish()
			r.result(id)
			if late {
				r.of("one").change(func(a *fakeAgent) { a.run = id })
				print()
			}
			noted := func() (notes []string) {
				for _, n := range r.result(id).Notes {
					if strings.Contains(n, "what executors printed is not complete") {
						notes = append(notes, n)
					}
				}
				return notes
			}
			r.until("it is noted", func() bool { return len(noted()) > 0 })
			time.Sleep(time.Second)
			if n := noted(); len(n) != 1 || strings.Contains(n[0], r.dir) || !strings.Contains(n[0], "executor 0 on one: not a directory") {
				t.Errorf("late %v: the notes are %q", late, n)
			}
			r.end()
		}
	})
}
