package master

import (
	"cmp"
	"context"
	"slices"
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
	before uint64 // numbers of this process are higher

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

// newEvents returns events with the numbers after before. A master passes the time of its
// start in microseconds: then its numbers are above those of the processes before it, which
// emitted far less than an event per microsecond, and below 2^53, as JavaScript needs.
func newEvents(before uint64) *events {
	return &events{before: before, last: before, readers: map[*reader]bool{}}
}

// emit assigns the next number to an event of run id, stores it and sends it to the readers;
// older events, and the Totals of all but the newest, are dropped (see storedEvents). It sets
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
			if i, ok := slices.BinarySearchFunc(e.ring, e.totals[0], byNumber); ok {
				without := *e.ring[i]
				without.Totals = nil
				e.ring[i] = &without
			}
			e.totals = e.totals[1:]
		}
	}
	for r := range e.readers {
		if r.run == "" || r.run == id {
			e.send(r, n)
		}
	}
}

func byNumber(n *event.Numbered, number uint64) int { return cmp.Compare(n.Number, number) }

// send sends an event to a reader, or removes the reader and closes its channel if that is
// full. The caller must hold e.mu.
func (e *events) send(r *reader, n *event.Numbered) {
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

// Events returns a channel of the events that follow number after, of one run or, if id is
// empty, of all. After 0, or a number of another process of the master, it begins with the
// oldest stored event. Events come once each, in order. Those of a run that is over end with
// event.Ended, also if that was emitted by a previous process. The channel is closed when ctx
// ends, or when the reader is too slow: 256 events more than were stored at the call wait in
// it. The caller must end ctx to release it. Events are shared between readers and must not
// be changed. The error is run.ErrTooOld if some are no longer stored, and run.ErrNotFound
// for an unknown id.
func (m *Master) Events(ctx context.Context, id string, after uint64) (<-chan *event.Numbered, error) {
	if id == "" {
		return m.events.follow(ctx, id, after, nil)
	}
	o, err := m.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	if !o.State.Final() || m.atWork(id) { // its end will be emitted
		return m.events.follow(ctx, id, after, nil)
	}
	r, err := m.Result(ctx, id)
	if err != nil {
		return nil, err
	}
	end := m.endOf(r)
	end.Time = o.Ended
	return m.events.follow(ctx, id, after, &end)
}

// follow is Master.Events of a run that is over with this end, or is not over if end is nil.
func (e *events) follow(ctx context.Context, id string, after uint64, end *event.Event) (<-chan *event.Numbered, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if after < e.before || after > e.last {
		after = e.before
	}
	if len(e.ring) > 0 && after > e.before && e.ring[0].Number > after+1 {
		return nil, run.ErrTooOld
	}
	var old []*event.Numbered
	for _, n := range e.ring {
		if n.Number > after && (id == "" || n.Run == id) {
			old = append(old, n)
		}
	}
	if end != nil && !slices.ContainsFunc(old, func(n *event.Numbered) bool { return n.Kind == event.Ended }) {
		e.last++ // of this reader only: others have had the end, or have not followed the run
		old = append(old, &event.Numbered{Number: e.last, Run: id, Event: *end})
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
