package master

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/master/split"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/version"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// active is the state of the active run. Its methods belong to the goroutine of perform,
// unless they say otherwise.
type active struct {
	m  *Master
	id string
	// Used by the goroutine of perform only, but for guard and record, which belong to the
	// goroutine that merges.
	order      *run.Order
	ctx        context.Context
	result     *run.Result
	epoch      uint64 // of the newest split of the load
	blobs      map[platform]*agentpb.Blob
	files      []*agentpb.Blob
	orphan     []*part   // lost executors whose load others are to take over
	takeoverAt time.Time // the earliest time of that
	guard      *guard
	record     *record
	stored     <-chan struct{} // closed when all executors are in the store

	news chan struct{} // holds a value if something below has changed
	gone chan struct{} // closed when the run is no longer active

	controls sync.Mutex // held while the load is changed; locked before mu

	mu        sync.Mutex
	plan      *split.Plan // nil before the load is split; changed with controls held too
	began     time.Time   // start of the load
	stop      string      // who or what asked for a stop, or empty
	cancelled string      // who asked for a cancel, or empty
	harm      string      // the guard that was breached, or empty
	interrupt func()      // ends the newest context of untilEnd
	executors []*part
	hosts     []*place
}

// part is one executor process.
type part struct {
	place    *place
	number   int
	epoch    uint64        // that it was started under; 0 means the first
	drains   time.Duration // above 0 if its load is over: how long it drains at most
	final    bool          // its last batch was received
	ended    *agentpb.Ended
	refused  error     // why its batches are refused
	reported bool      // its loss was reported; used by the goroutine of perform only
	zero     time.Time // when its load began, by the master's clock
}

// dead reports whether p ended, or had a batch refused, before its last batch, or ended its
// load by a signal.
func (p *part) dead() bool {
	return p.refused != nil || p.ended != nil && p.ended.Error != "" && !p.final || p.signalled()
}

// signalled reports whether a signal that gobench did not send ended p's load.
func (p *part) signalled() bool { return p.ended.GetHow() == agentpb.BySignal }

// done reports whether no further batch of p is expected.
func (p *part) done() bool { return p.final || p.ended != nil || p.refused != nil }

// place is an agent that takes part in the run.
type place struct {
	member
	epoch   uint64 // its newest epoch
	started uint64 // the newest epoch that it has started executors for
	hellos  []*wire.Hello
	over    bool      // its last delivery was received
	dropped bool      // it may have executors that never began
	lost    bool      // the run continues without it
	lostAt  time.Time // when that was noticed; member.heard is when the master last heard of it
	renewed time.Time // when it last confirmed its lease
	forgot  time.Time // when it first answered that the run is unknown to it
}

// errGivenUp is the cause of a context of untilEnd when the run is to end.
var errGivenUp = errors.New("the run was ended")

// perform takes a run from the queue to its final state, and returns then. A failure of the
// run is not an error; an error means that the master can't continue. It returns nil, and
// leaves the run as it is, after Shutdown or if the run was cancelled or deleted meanwhile. If
// ctx ends, the run stays as it is, too; the result is nil, or an error if that interrupted a
// write or conclude.
func (m *Master) perform(ctx context.Context, o *run.Order) error {
	a := &active{m: m, id: o.ID, order: o, news: make(chan struct{}, 1), gone: make(chan struct{}), result: newResult(o)}
	limit := m.RunLimit
	if o.Options.Limit > 0 {
		limit = min(limit, seconds(o.Options.Limit))
	}
	ending, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	a.ctx = ending
	begin, done := a.untilEnd(ending)
	defer done()
	m.mu.Lock()
	if m.shutdown {
		m.mu.Unlock()
		return nil
	}
	m.active = a
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.active, m.last, m.lastEnd = nil, a.id, time.Now()
		m.mu.Unlock()
		close(a.gone)
	}()
	if err := a.to(ctx, run.Compiling, "", byMaster); err != nil {
		if errors.Is(err, run.ErrConflict) || errors.Is(err, run.ErrNotFound) { // cancelled or deleted meanwhile
			return nil
		}
		return err
	}
	failed := a.prepare(begin)
	if cause := context.Cause(begin); failed != nil && errors.Is(cause, errGivenUp) {
		failed = cause // rather than an error that the cancelled context led to
	} else if failed == nil {
		failed = a.load(ending)
	}
	if ctx.Err() != nil { // the next process settles the run: see recover
		return nil
	}
	if ending.Err() != nil && failed == nil {
		failed = fmt.Errorf("the run lasted longer than its limit of %v", limit)
	}
	return a.conclude(ctx, failed)
}

// newResult returns the result of a run without any measurement: options, state and cause
// are those of o. It shares o's maps and slices.
func newResult(o *run.Order) *run.Result {
	r := &run.Result{Format: run.Format, Gobench: version.Version, ID: o.ID, Name: o.Name, State: o.State, Cause: o.Cause, Created: o.Created, Complete: true,
		Metrics: []run.Metric{}, Errors: []run.Failure{}}
	r.Config = run.Config{Command: o.Options.Command, Scenario: o.Name, Parameters: o.Options.Parameters, Seed: o.Options.Seed, Classes: []run.Class{},
		Duration: o.Options.Duration, Interval: intervalOf(&o.Options).Seconds(), GracefulStop: gracefulOf(&o.Options).Seconds()}
	if b := o.Options.Builtin; b != nil {
		r.Config.Scenario, r.Config.Target, r.Config.Options = "", b.Target, b.Options
	}
	return r
}

// gracefulOf returns how long a run waits for iterations in flight; at least 30 s by default.
func gracefulOf(o *run.Options) time.Duration {
	if o.GracefulStop == 0 {
		return 30 * time.Second
	}
	return seconds(o.GracefulStop)
}

// to changes the run's state in the store, by retry, in a.order and in a.result. After an error
// a.order and a.result are unchanged; the store may have the new state (see Store).
func (a *active) to(ctx context.Context, s run.State, cause, by string) error {
	tried := false
	return a.m.retry(ctx, "store a run's state", func() error {
		o, err := a.m.move(ctx, a.order, s, cause, by)
		if tried && errors.Is(err, run.ErrConflict) { // the attempt that failed may have stored it
			if now, wrong := a.m.Store.Run(ctx, a.id); wrong == nil && now.State == s && now.Version == a.order.Version+1 {
				a.m.events.state(now)
				o, err = now, nil
			}
		}
		tried = true
		if err == nil {
			a.order, a.result.State, a.result.Cause = o, s, cause
		}
		return err
	})
}

// storeResult stores a.result, by retry.
func (a *active) storeResult(ctx context.Context) error {
	return a.m.retry(ctx, "store a run's result", func() error { return a.m.Store.PutResult(ctx, a.result) })
}

// say emits a step, a note or a warning as an event. Any goroutine may call it.
func (a *active) say(kind event.Kind, format string, args ...any) {
	a.m.events.emit(a.id, event.Event{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// note emits a note and adds it to the result. While the run has load, it also stores the
// result; an error of that is logged.
func (a *active) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	a.result.Notes = append(a.result.Notes, text)
	a.say(event.Note, "%s", text)
	if s := a.result.State; s == run.Running || s == run.Stopping { // visible before the run ends
		if err := a.m.Store.PutResult(a.ctx, a.result); err != nil && a.ctx.Err() == nil {
			a.m.Logger.Error("keep a run's notes", "run", a.id, "error", err)
		}
	}
}

// change calls f with a.mu held, wakes the goroutine of perform, and ends the context of
// untilEnd if the run is to end. Any goroutine may call it. f must not lock a.mu or block.
func (a *active) change(f func()) {
	a.mu.Lock()
	f()
	if a.ending() {
		a.interrupt()
	}
	a.mu.Unlock()
	select {
	case a.news <- struct{}{}:
	default:
	}
}

// ending reports whether the run is to end: a stop or a cancel was requested, or a guard was
// breached. The caller must hold a.mu.
func (a *active) ending() bool { return a.stop != "" || a.cancelled != "" || a.harm != "" }

// untilEnd returns a context that ends with ctx, or with the cause errGivenUp when the run is
// to end; it replaces the one of the previous call. The caller must call done after its use.
func (a *active) untilEnd(ctx context.Context) (within context.Context, done func()) {
	within, cancel := context.WithCancelCause(ctx)
	a.change(func() { a.interrupt = func() { cancel(errGivenUp) } })
	return within, func() { cancel(nil) }
}

// end requests the end of the run, a cancel or a stop, which waits for requests in flight,
// and returns at once. It ends the preparation of the load, or a takeover. The first request of each kind
// counts and is emitted, a cancel also after a stop; others do nothing. Any goroutine may call
// it.
func (a *active) end(cancel bool, by string) {
	first := false
	a.change(func() {
		if cancel && a.cancelled == "" {
			a.cancelled, first = by, true
		} else if !cancel && a.stop == "" && a.cancelled == "" {
			a.stop, first = by, true
		}
	})
	if first {
		text := "stopping: waiting for what is in flight"
		if cancel {
			text = "cancelling"
		}
		a.m.events.emit(a.id, event.Event{Kind: event.Ending, Cancel: cancel, By: by, Text: text})
	}
}

// epochOf returns the newest epoch of an agent. It locks a.mu.
func (a *active) epochOf(h *place) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return h.epoch
}

// places returns the agents of the run that are not lost, in a new slice in the order of
// a.hosts. The places are shared: a.mu guards their fields.
func (a *active) places() (all []*place) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, h := range a.hosts {
		if !h.lost {
			all = append(all, h)
		}
	}
	return all
}

// The methods below are called by the goroutine that merges.

// abort requests a stop because a threshold was crossed, unless a stop was requested before.
func (a *active) abort() {
	a.change(func() {
		if a.stop == "" {
			a.stop = byThreshold
		}
	})
}

// byMaster is the user of a transition that no user asked for.
const byMaster = "master"

// byThreshold as the one who asked for a stop means a threshold, which the tally names.
const byThreshold = "a threshold"

// batch checks a merged batch of executor e against the guards, and stores whether it is the
// last one and when the load of e began. It panics if a has no executor e.
func (a *active) batch(e int, b *wire.Batch) {
	if harm := a.guard.add(e, b); harm != "" {
		a.change(func() {
			if a.harm == "" {
				a.harm = harm
			}
		})
	}
	if b.GoUnixNs != 0 || b.Final != nil {
		a.change(func() {
			p := a.executors[e]
			p.final = b.Final != nil
			if b.GoUnixNs != 0 {
				p.zero = time.Unix(0, b.GoUnixNs).Add(-p.place.offset)
			}
		})
	}
}

func (a *active) refuse(e int, err error) { a.change(func() { a.executors[e].refused = err }) }

func (a *active) ended(e int, how *agentpb.Ended) { a.change(func() { a.executors[e].ended = how }) }

func (a *active) stopping(e int, limit time.Duration) {
	a.change(func() { a.executors[e].drains = limit })
}

// over records that an agent's last delivery was received, unless t has an older epoch than
// the agent's newest executors.
func (a *active) over(t stream) {
	a.change(func() {
		for _, h := range a.hosts {
			if h.ID == t.agent && t.epoch >= h.started {
				h.over = true
			}
		}
	})
}

// performs reports whether id is the active run, or was during the last 3 s.
func (m *Master) performs(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.active != nil && m.active.id == id || m.last == id && time.Since(m.lastEnd) < 3*time.Second
}

// atWork reports whether id is the active run.
func (m *Master) atWork(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.active != nil && m.active.id == id
}

// leftover ends what an agent still executes of a run that is over. Its executors get the
// usual time for a cancel, and their last batches are merged. It blocks for Times.Cancel at
// most, or until ctx ends. Errors are logged; the caller calls it again later.
func (m *Master) leftover(ctx context.Context, agent, id string, epoch uint64) {
	ctx, cancel := context.WithTimeout(ctx, m.Times.Cancel)
	defer cancel()
	m.Logger.Info("an agent is at a run that is over", "agent", agent, "run", id)
	_, err := m.command(ctx, &agentpb.Command{Agent: agent, Run: id, Epoch: epoch, What: &agentpb.Command_Cancel{Cancel: &wire.Cancel{}}})
	if err == nil {
		m.fleet.awaitOver(ctx, agent, id, m.Times.Cancel/2)
		_, err = m.command(ctx, &agentpb.Command{Agent: agent, Run: id, Epoch: epoch, What: &agentpb.Command_Release{Release: &agentpb.Release{}}})
	}
	if err != nil {
		m.Logger.Warn("end what is left of a run", "agent", agent, "run", id, "error", err)
	}
}
