package master

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
)

// keptEvents is how many events can be told again to a reader that comes back, and
// queuedEvents how many wait for one that is slow.
const (
	keptEvents   = 4_000
	queuedEvents = 256
)

// keptTotals is how many of the events that are kept have a run's totals: they are long,
// and those of long ago are of no use.
const keptTotals = 10

// events tells whoever listens what happens. An event's Totals are taken at once: they
// stay good.
type events struct {
	mu      sync.Mutex
	last    uint64
	ring    []*event.Numbered // the newest, by number; readers have them too, so none is changed
	totals  []uint64          // numbers of those that have totals
	readers map[*reader]bool
}

// reader is somebody who listens.
type reader struct {
	run string // empty: all
	ch  chan *event.Numbered
}

func newEvents() *events { return &events{readers: map[*reader]bool{}} }

// tell numbers an event and hands it on. A reader whose queue is full is let go: it comes
// back and names the last one it has.
func (e *events) tell(id string, what event.Event) {
	if what.Time.IsZero() {
		what.Time = time.Now()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last++
	n := &event.Numbered{Number: e.last, Run: id, Event: what}
	if len(e.ring) == keptEvents { // give the older half back at once
		e.ring = append(make([]*event.Numbered, 0, keptEvents), e.ring[keptEvents/2:]...)
	}
	e.ring = append(e.ring, n)
	if what.Totals != nil {
		if e.totals = append(e.totals, n.Number); len(e.totals) > keptTotals {
			if old, first := e.totals[0], e.ring[0].Number; old >= first {
				without := *e.ring[old-first]
				without.Totals = nil
				e.ring[old-first] = &without
			}
			e.totals = e.totals[1:]
		}
	}
	for r := range e.readers {
		if r.run == "" || r.run == id {
			e.give(r, n)
		}
	}
}

func (e *events) give(r *reader, n *event.Numbered) {
	select {
	case r.ch <- n:
	default:
		delete(e.readers, r)
		close(r.ch)
	}
}

// state tells that a run is in another state.
func (e *events) state(o *run.Order) {
	e.tell(o.ID, event.Event{Kind: event.State, State: o.State, Run: o.ID, Cause: o.Cause})
}

func (e *events) waits(id, why string) {
	e.tell(id, event.Event{Kind: event.Step, Run: id, State: run.Queued, Text: "waiting: " + why})
}

// ErrTooOld means that events after the one asked for are not kept any more.
var ErrTooOld = errors.New("events that old are not kept: begin anew")

// Events gives what happens from the event after one of number after on (0: what is
// kept), of one run or of all (id empty), until ctx ends or the reader is too slow: then
// the channel is closed. Each number is given once, in order. A number that this master
// has not given, as after its restart, is as 0. An event is that of all readers: nobody
// changes it.
func (m *Master) Events(ctx context.Context, id string, after uint64) (<-chan *event.Numbered, error) {
	e := m.events
	e.mu.Lock()
	defer e.mu.Unlock()
	if after > e.last {
		after = 0
	}
	if len(e.ring) > 0 && after > 0 && e.ring[0].Number > after+1 {
		return nil, ErrTooOld
	}
	var old []*event.Numbered
	for _, n := range e.ring {
		if n.Number > after && (id == "" || n.Run == id) {
			old = append(old, n)
		}
	}
	r := &reader{id, make(chan *event.Numbered, len(old)+queuedEvents)}
	for _, n := range old {
		r.ch <- n
	}
	e.readers[r] = true
	context.AfterFunc(ctx, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.readers[r] {
			delete(e.readers, r)
			close(r.ch)
		}
	})
	return r.ch, nil
}
