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

// active is the run that is at work: who performs it, and how far it has come.
type active struct {
	m      *Master
	id     string
	order  *run.Order // of the goroutine that performs
	ctx    context.Context
	result *run.Result                // of the goroutine that performs
	epoch  uint64                     // of the newest shares; of the goroutine that performs
	blobs  map[platform]*agentpb.Blob // of the goroutine that performs, as all down to news
	files  []*agentpb.Blob
	orphan []*part         // whose part nobody does, to be taken over
	taking time.Time       // when it may be
	guard  *guard          // of the goroutine that merges
	record *record         // of the goroutine that merges
	kept   <-chan struct{} // closed when the store knows all executors

	news chan struct{} // something below has changed
	gone chan struct{} // closed when it is no run at work any more

	controls sync.Mutex // held while the load is changed; before mu

	mu        sync.Mutex
	plan      *split.Plan // nil: nothing is shared yet; also under controls
	began     time.Time   // of the load
	stop      string      // who or what asked for a stop; empty: nobody
	cancelled string      // who asked for a cancel; empty: nobody
	harm      string      // the guard that was breached
	giveUp    context.CancelFunc
	executors []*part
	hosts     []*place
}

// part is one executor process.
type part struct {
	place   *place
	number  int
	epoch   uint64 // that it was begun under; 0: the first
	drains  bool   // its load is over
	final   bool   // its last batch has come
	ended   *agentpb.Ended
	refused error     // what it sent can't be
	told    bool      // its death has been said; of the goroutine that performs
	zero    time.Time // when its load began, by the master's clock
}

// dead tells whether it ended, or is not believed, before its last batch.
func (p *part) dead() bool {
	return p.refused != nil || p.ended != nil && p.ended.Error != "" && !p.final
}

// done tells whether nothing more is to come of it.
func (p *part) done() bool { return p.final || p.ended != nil || p.refused != nil }

// place is an agent that takes part.
type place struct {
	member
	epoch   uint64 // its newest
	started uint64 // that it has executors of, the newest
	hellos  []*wire.Hello
	over    bool // its last delivery has come
	lost    bool // it is not counted on any more
	lostAt  time.Time
	renewed time.Time // when it last answered that its lease goes on
	forgot  time.Time // when it first said that it knows nothing of the run
}

// errGivenUp ends what comes before the load.
var errGivenUp = errors.New("given up")

// perform performs a run from the queue to its final state. An error is the master's: it
// can't go on.
func (m *Master) perform(ctx context.Context, o *run.Order) error {
	a := &active{m: m, id: o.ID, order: o, news: make(chan struct{}, 1), gone: make(chan struct{}), result: newResult(o)}
	limit := m.RunLimit
	if o.Options.Limit > 0 {
		limit = min(limit, seconds(o.Options.Limit))
	}
	ending, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	a.ctx = ending
	begin, giveUp := context.WithCancelCause(ending)
	defer giveUp(nil)
	a.giveUp = func() { giveUp(errGivenUp) }
	m.mu.Lock()
	if m.rests {
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
	if err := a.to(ctx, run.Compiling, "", "master"); err != nil {
		if errors.Is(err, run.ErrConflict) { // cancelled or deleted a moment ago
			return nil
		}
		return err
	}
	failed := a.prepare(begin)
	if cause := context.Cause(begin); failed != nil && errors.Is(cause, errGivenUp) {
		failed = cause // whatever the context's end became on its way here
	} else if failed == nil {
		failed = a.load(ending)
	}
	if ctx.Err() != nil { // the next master says what became of it
		return nil
	}
	if ending.Err() != nil && failed == nil {
		failed = fmt.Errorf("the run lasted longer than its limit of %v", limit)
	}
	return a.conclude(ctx, failed)
}

// newResult is what a run's result begins as.
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

func gracefulOf(o *run.Options) time.Duration {
	if o.GracefulStop == 0 {
		return 30 * time.Second
	}
	return seconds(o.GracefulStop)
}

// to moves the run on.
func (a *active) to(ctx context.Context, s run.State, cause, by string) error {
	o, err := a.m.move(ctx, a.order, s, cause, by)
	if err != nil {
		return err
	}
	a.order, a.result.State, a.result.Cause = o, s, cause
	return nil
}

// say tells of a step, a note or a warning.
func (a *active) say(kind event.Kind, format string, args ...any) {
	a.m.events.tell(a.id, event.Event{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// note tells of something and keeps it for the report.
func (a *active) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	a.result.Notes = append(a.result.Notes, text)
	a.say(event.Note, "%s", text)
	if s := a.result.State; s == run.Running || s == run.Stopping { // who looks at the run sees it
		if err := a.m.Store.PutResult(a.ctx, a.result); err != nil && a.ctx.Err() == nil {
			a.m.Logger.Error("keep a run's notes", "run", a.id, "error", err)
		}
	}
}

// change changes what is guarded, and wakes who performs.
func (a *active) change(f func()) {
	a.mu.Lock()
	f()
	a.mu.Unlock()
	select {
	case a.news <- struct{}{}:
	default:
	}
}

// End asks for the end of the run: by a stop, which drains, or a cancel.
func (a *active) end(cancel bool, by string) {
	first := false
	a.change(func() {
		if cancel && a.cancelled == "" {
			a.cancelled, first = by, true
		} else if !cancel && a.stop == "" && a.cancelled == "" {
			a.stop, first = by, true
		}
		a.giveUp()
	})
	if first {
		text := "stopping: waiting for what is in flight"
		if cancel {
			text = "cancelling"
		}
		a.m.events.tell(a.id, event.Event{Kind: event.Ending, Cancel: cancel, By: by, Text: text})
	}
}

// What follows is called by the goroutine that merges.

func (a *active) abort() {
	a.change(func() {
		if a.stop == "" {
			a.stop = byThreshold
		}
	})
}

// byThreshold asks for a stop that needs no name: the tally has it.
const byThreshold = "a threshold"

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

func (a *active) stopping(e int) { a.change(func() { a.executors[e].drains = true }) }

func (a *active) over(t taker) {
	a.change(func() {
		for _, h := range a.hosts {
			if h.ID == t.agent && t.epoch >= h.started {
				h.over = true
			}
		}
	})
}

// performs tells whether id is the run that is at work, or was a moment ago.
func (m *Master) performs(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.active != nil && m.active.id == id || m.last == id && time.Since(m.lastEnd) < 3*time.Second
}

// atWork tells whether id is the run that is at work.
func (m *Master) atWork(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.active != nil && m.active.id == id
}

// leftover ends what an agent still does of a run that is none any more. Its executors
// have the time that a cancel gives them: what they counted is still taken in.
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

// RefusedError is an agent's answer that it did not do what it was told.
type RefusedError struct{ Code, Text string }

func (e *RefusedError) Error() string { return e.Text }

// command sends a command and gives its answer; what the agent refuses is a
// *RefusedError.
func (m *Master) command(ctx context.Context, c *agentpb.Command) (*agentpb.Answer, error) {
	c.UnixNs = time.Now().UnixNano()
	answer, err := m.Bus.Command(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", m.fleet.name(c.Agent), err)
	}
	if answer.Error != "" {
		return answer, fmt.Errorf("agent %s: %w", m.fleet.name(c.Agent), &RefusedError{answer.Code, answer.Error})
	}
	return answer, nil
}

// name is an agent's name for people.
func (f *fleet) name(id string) string {
	if w, _ := f.get(id); w.Name != "" {
		return w.Name
	}
	return id
}
