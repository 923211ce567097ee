package master

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
)

// storedEvents is how many past events are available to readers, and queuedEvents how many
// may wait in the channel of a slow reader.
const (
	storedEvents = 4_000
	queuedEvents = 256
)

// storedTotals is how many of the past events still have a run's totals, which are large.
const storedTotals = 10

// events distributes events to readers and stores the newest. An event's Totals function
// must return the totals of the event's time whenever it is called. Methods are safe for
// concurrent use and do not block.
type events struct {
	mu      sync.Mutex
	last    uint64
	ring    []*event.Numbered // the newest, by number; shared with readers, so never changed
	totals  []uint64          // numbers of those that have totals
	readers map[*reader]bool
}

// reader is a caller of Master.Events.
type reader struct {
	run string // empty means all runs
	ch  chan *event.Numbered
}

func newEvents() *events { return &events{readers: map[*reader]bool{}} }

// emit numbers an event of run id, from 1, stores it and sends it to the readers. It sets
// the event's time if that is zero. If a reader's channel is full, it is closed: the reader
// resumes by calling Events again.
func (e *events) emit(id string, what event.Event) {
	if what.Time.IsZero() {
		what.Time = time.Now()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last++
	n := &event.Numbered{Number: e.last, Run: id, Event: what}
	if len(e.ring) == storedEvents { // drop the older half at once
		e.ring = append(make([]*event.Numbered, 0, storedEvents), e.ring[storedEvents/2:]...)
	}
	e.ring = append(e.ring, n)
	if what.Totals != nil {
		if e.totals = append(e.totals, n.Number); len(e.totals) > storedTotals {
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

// It sends an event to a reader, or removes the reader and closes its channel if that is
// full. The caller must hold e.mu.
func (e *events) give(r *reader, n *event.Numbered) {
	select {
	case r.ch <- n:
	default:
		delete(e.readers, r)
		close(r.ch)
	}
}

// state emits a change of a run's state.
func (e *events) state(o *run.Order) {
	e.emit(o.ID, event.Event{Kind: event.State, State: o.State, Run: o.ID, Cause: o.Cause})
}

// waits emits the reason why a queued run waits.
func (e *events) waits(id, why string) {
	e.emit(id, event.Event{Kind: event.Step, Run: id, State: run.Queued, Text: "waiting: " + why})
}

// ErrTooOld means that some of the requested events are no longer stored.
var ErrTooOld = errors.New("events that old are no longer stored: begin again")

// Events returns a channel of the events that follow number after, of one run or, if id is
// empty, of all; an unknown id has no events. After 0 it begins with the oldest stored
// event; a number that this process has not reached yet, as after a restart, counts as 0.
// Events come once each, in order. The channel is closed when ctx ends, or when the reader
// is too slow: 256 events more than were stored at the call wait in it. The caller must end
// ctx to release it. Events are shared between readers and must not be changed. The error is
// ErrTooOld if some are no longer stored.
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
