package master

import (
	"context"
	"errors"
	"fmt"
	"hash/crc64"
	"io/fs"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/measure/monitor"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// record is the merged state of a run. Its methods may be called by the goroutine that
// merges only, and before that one starts by Serve.
type record struct {
	m        *Master
	id       string
	interval time.Duration
	tally    *monitor.Tally
	taken    map[taker]uint64  // number of the last merged delivery
	placed   []*agentpb.Placed // executors
	active   *active           // nil if the run is over
	result   *run.Result       // of a run that is over; late deliveries change it

	unlogged bool // a piece of output was lost
	dirty    bool
	waiting  []func() // to be called once the present state is stored
	keys     []run.BatchKey
	parts    []run.SeriesPart
	changed  map[int]bool // executors
	last     time.Time    // of the last delivery
	since    time.Time    // the load did not begin before
}

// taker identifies the deliveries of an agent under one epoch, which are numbered together.
type taker struct {
	agent string
	epoch uint64
}

// taking is a taker in one of many runs.
type taking struct {
	run string
	taker
}

// newRecord returns the record of a run without executors, which the caller adds. a is nil
// for a run that is not active; its events are dropped then.
func newRecord(m *Master, id string, interval time.Duration, a *active) *record {
	r := &record{m: m, id: id, interval: interval, taken: map[taker]uint64{}, active: a, changed: map[int]bool{}, last: time.Now(), since: time.Now()}
	r.tally = monitor.New(r.options())
	r.tally.Merger.OnPart(r.part)
	return r
}

// options returns the options of the run's tally: it emits the tally's events, and ends the
// load of an active run whose threshold has abort.
func (r *record) options() monitor.Options {
	return monitor.Options{Interval: r.interval, Tell: r.emit, Abort: func() {
		if r.active != nil {
			r.active.abort()
		}
	}}
}

// restore returns the record of a run from the store: one of a previous process, or one that
// is over. It is empty if nothing of the run was taken; its result is nil if the store has
// no result. The error wraps run.ErrNotFound if there is no such run; the record must not be
// used after an error. The state of thresholds and of the generator's health is lost.
func restore(ctx context.Context, m *Master, id string) (*record, error) {
	o, err := m.Store.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	sources, whole, err := m.Store.Taken(ctx, id)
	if err != nil {
		return nil, err
	}
	r := newRecord(m, id, intervalOf(&o.Options), nil)
	r.since = o.Created
	var kept agentpb.Kept
	if err := proto.Unmarshal(whole, &kept); err != nil {
		return nil, fmt.Errorf("read the state of run %s: %w", id, err)
	}
	r.placed = kept.Executors
	for _, t := range kept.Taken {
		r.taken[taker{t.Agent, t.Epoch}] = t.Number
	}
	states := make([][]byte, len(r.placed))
	for i, p := range r.placed { // executors without a batch so far
		states[i] = marshal(&merge.SourceState{ToNs: p.BeginNs, Name: p.Name})
	}
	for _, s := range sources {
		if s.Executor < len(states) {
			states[s.Executor] = s.State
		}
	}
	merger, err := merge.Restore(r.interval, kept.Merged, states)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	var hosts []string
	for _, p := range r.placed {
		hosts = append(hosts, p.Name)
	}
	r.tally = monitor.Restore(r.options(), merger, hosts)
	merger.OnPart(r.part)
	if r.result, err = m.Store.Result(ctx, id); err != nil && !errors.Is(err, run.ErrNotFound) {
		return nil, err
	}
	return r, r.reopen(ctx)
}

// reopen adds the stored recordings of the intervals that were not complete, from the series
// of each agent. After an error r is incomplete and must not be used.
func (r *record) reopen(ctx context.Context) error {
	given := r.tally.Merger.Given()
	agents := map[string]bool{}
	for _, p := range r.placed {
		if agents[p.Agent] {
			continue
		}
		agents[p.Agent] = true
		q := run.SeriesQuery{Run: r.id, Agent: p.Agent, From: given}
		err := r.m.Store.Series(ctx, q, func(p run.SeriesPart) error {
			if p.From < given {
				return nil
			}
			return r.tally.Merger.Reopen(p.Data)
		})
		if err != nil {
			return fmt.Errorf("reopen the intervals of run %s: %w", r.id, err)
		}
	}
	return nil
}

// emit emits an event of the tally with its totals as they are now. It drops the event if
// the run is not active.
func (r *record) emit(e event.Event) {
	if r.active == nil {
		return
	}
	if e.Totals != nil { // taken now, as the tally changes
		totals := e.Totals()
		e.Totals = func() event.Totals { return totals }
	}
	r.m.events.emit(r.id, e)
}

// part adds an interval of all executors to the next commit.
func (r *record) part(p merge.Part) {
	r.parts = append(r.parts, run.SeriesPart{Run: r.id, Step: r.interval, From: p.From, To: p.To, Warmup: p.Warmup, Data: p.Data})
}

// maxTakers bounds the agents and epochs of a run, and maxEarly the numbers of executors
// that print before the load is split. No honest agent exceeds them.
const (
	maxTakers = 20_000
	maxEarly  = 9_999
)

var table = crc64.MakeTable(crc64.ECMA)

// errLost means that earlier deliveries were acknowledged and neither the store nor the
// agent has them any more: the store was replaced by a backup.
var errLost = errors.New("what was delivered before it is lost")

// take merges one delivery and adds its number to c, for its confirmation to the agent.
// repeat reports that it was merged before. After an error it was not merged: it will be
// redelivered, or, if the error is errLost, can never be merged. An invalid batch is not an
// error: see batch.
func (r *record) take(d delivered, c *commit) (repeat bool, err error) {
	t := taker{d.Agent, d.Epoch}
	switch last := r.taken[t]; {
	case d.Number <= last && last > 0:
		r.upTo(c, t)
		return true, nil
	case last == 0 && len(r.taken) >= maxTakers:
		return false, errors.New("there are too many epochs of this run")
	case d.First > last+1 && r.active == nil:
		return false, errLost
	case d.Number != last+1:
		return false, fmt.Errorf("it follows delivery %d", last)
	}
	switch what := d.What.(type) {
	case *agentpb.Delivery_Batch:
		err = r.batch(d, what.Batch, nil)
	case *agentpb.Delivery_Packed:
		body, wrong := r.m.intake.codec.Unpack(what.Packed)
		err = r.batch(d, body, wrong)
	case *agentpb.Delivery_Exact:
		err = r.exact(d, what.Exact)
	case *agentpb.Delivery_Log:
		if _, wrong := r.of(d); wrong != nil && (len(r.placed) > 0 || d.Executor > maxEarly) {
			return false, wrong
		}
		if lost := r.m.logs.write(r.id, d.Agent, int(d.Executor), what.Log); lost != nil {
			r.logLost(d, lost)
		}
	case *agentpb.Delivery_Ended:
		if p, wrong := r.of(d); wrong == nil {
			p.Ended = what.Ended
			if r.active != nil {
				r.active.ended(int(d.Executor), what.Ended)
			}
		}
	case *agentpb.Delivery_Stopping:
		if r.active != nil {
			r.active.stopping(int(d.Executor))
		}
	case *agentpb.Delivery_Note:
		r.tally.Merger.Note("on " + r.m.fleet.name(d.Agent) + ": " + what.Note)
	case *agentpb.Delivery_Over:
		if r.active != nil {
			r.active.over(t)
		}
	}
	if err != nil {
		return false, err
	}
	r.taken[t] = d.Number
	r.upTo(c, t)
	r.dirty, r.last = true, time.Now()
	return false, nil
}

func (r *record) upTo(c *commit, t taker) {
	c.upTo[taking{r.id, t}] = &agentpb.Committed{Run: r.id, Epoch: t.epoch, Number: r.taken[t]}
}

// of returns the executor of a delivery, which is r's own, or an error if it is not one of
// that agent and epoch.
func (r *record) of(d delivered) (*agentpb.Placed, error) {
	if int(d.Executor) >= len(r.placed) {
		return nil, fmt.Errorf("executor %d is not of this run", d.Executor)
	}
	p := r.placed[d.Executor]
	if p.Agent != d.Agent || p.Epoch != d.Epoch {
		return nil, fmt.Errorf("executor %d is of agent %s (epoch %d)", d.Executor, p.Agent, p.Epoch)
	}
	return p, nil
}

// logLost reports, once for the run, that a piece of an executor's output could not be stored.
// The run continues.
func (r *record) logLost(d delivered, err error) {
	if r.unlogged {
		return
	}
	r.unlogged = true
	r.m.Logger.Error("store the output of an executor; further errors of this run are not logged", "run", r.id, "agent", d.Agent, "executor", d.Executor, "error", err)
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err // without the path, which is of no use to the reader of a report
	}
	text := fmt.Sprintf("what executors printed is not complete: the master could not store some of it, first of executor %d on %s: %v", d.Executor, r.m.fleet.name(d.Agent), err)
	r.tally.Merger.Note(text)
	if r.result != nil { // the run is over
		r.result.Notes = append(r.result.Notes, text)
	}
}

// exact replaces gathered histograms by exact ones. If they do not fit, nothing is replaced
// and the result has a note. The error is that of of.
func (r *record) exact(d delivered, x *agentpb.Exact) error {
	if _, err := r.of(d); err != nil {
		return err
	}
	e := int(d.Executor)
	if err := r.tally.Merger.Exact(e, x.Through, x.Histograms, x.More); err != nil {
		r.tally.Merger.Note(fmt.Sprintf("the exact histograms of executor %d on %s are refused: %v", e, r.m.fleet.name(d.Agent), err))
	}
	r.changed[e] = true
	return nil
}

// batch merges a batch, an encoded wire.Batch; err is the error of unpacking it. A batch
// that was merged before is ignored. An invalid one and all later ones of its executor are
// ignored with a note in the result, and intervals no longer wait for that executor. The
// error is that of of.
func (r *record) batch(d delivered, data []byte, err error) error {
	if _, wrong := r.of(d); wrong != nil {
		return wrong
	}
	e := int(d.Executor)
	b := new(wire.Batch)
	if err == nil {
		err = proto.Unmarshal(data, b)
	}
	if seq, over := r.tally.Merger.Seq(e); err == nil && (over || b.Seq != 0 && b.Seq <= seq) {
		r.m.Logger.Warn("a batch that was taken in comes as another delivery", "run", r.id, "agent", d.Agent, "executor", e, "batch", b.Seq)
		return nil
	}
	if most := time.Since(r.since) + ahead; err == nil && time.Duration(b.ToNs) > most+time.Minute {
		err = fmt.Errorf("it is of %v after the load began, and that is %v ago at most", time.Duration(b.ToNs).Round(time.Second), most.Round(time.Second))
	}
	if err == nil {
		err = r.tally.Add(e, b)
	}
	if err != nil {
		r.tally.Merger.Note(fmt.Sprintf("what executor %d on %s sent is refused from batch %d on: %v", e, r.m.fleet.name(d.Agent), b.GetSeq(), err))
		r.tally.Lose(e)
		if r.active != nil {
			r.active.refuse(e, err)
		}
		return nil
	}
	key := run.BatchKey{Run: r.id, Executor: e, Epoch: d.Epoch, Seq: b.Seq, Agent: d.Agent, Sum: crc64.Checksum(data, table)}
	r.keys = append(r.keys, key)
	p := r.tally.Merger.PartOf(e, b)
	r.parts = append(r.parts, run.SeriesPart{Run: r.id, Agent: d.Agent, Step: r.interval, From: p.From, To: p.To, Warmup: p.Warmup, Data: p.Data})
	r.changed[e] = true
	if r.active != nil {
		r.active.batch(e, b)
	}
	return nil
}

// fill moves what has changed since the last call to a commit: batches, series, states, and
// for a run that is over the corrected result. It adds nothing if nothing has changed.
func (r *record) fill(c *commit) {
	if !r.dirty {
		return
	}
	r.dirty = false
	if r.result != nil { // the run is over: late batches make further parts
		r.tally.Intervals(true)
	}
	m := r.tally.Merger
	c.in.Batches = append(c.in.Batches, r.keys...)
	c.in.Series = append(c.in.Series, r.parts...)
	for e := range r.changed {
		p := r.placed[e]
		seq, _ := m.Seq(e)
		c.in.Sources = append(c.in.Sources, run.SourceState{Run: r.id, Executor: e, Epoch: p.Epoch, Agent: p.Agent, Seq: seq, State: m.SourceState(e)})
	}
	c.in.Totals = append(c.in.Totals, run.TotalsState{Run: r.id, State: r.state()})
	c.done = append(c.done, r.waiting...)
	r.keys, r.parts, r.waiting = nil, nil, nil
	clear(r.changed)
	if r.result != nil { // a late batch changes the stored result
		r.late()
		result := *r.result
		c.in.Results = append(c.in.Results, &result)
	}
}

// whenStored returns a channel that is closed once the record's present state is stored;
// never if that fails.
func (r *record) whenStored() <-chan struct{} {
	kept := make(chan struct{})
	r.dirty = true
	r.waiting = append(r.waiting, func() { close(kept) })
	return kept
}

// state returns the record's state for the store, encoded.
func (r *record) state() []byte {
	k := &agentpb.Kept{Merged: r.tally.Merger.State(), IntervalNs: int64(r.interval), Executors: r.placed}
	for t, n := range r.taken {
		k.Taken = append(k.Taken, &agentpb.Taken{Agent: t.agent, Epoch: t.epoch, Number: n})
	}
	return marshal(k)
}

// interrupt stores and returns the result of a run that a previous process left active: what
// it had merged. Batches that agents still have are merged later.
func (n *intake) interrupt(ctx context.Context, o *run.Order) (*run.Result, error) {
	r, err := restore(ctx, n.m, o.ID)
	if err != nil {
		return nil, err
	}
	if r.result == nil {
		r.result = newResult(o)
	}
	r.result.State, r.result.Cause = o.State, o.Cause
	if len(r.placed) > 0 {
		r.tally.Reason(run.Reason{Signal: "agents", Level: run.Amber, Text: "the master ended while the load went on: the load ended with the agents' leases", Windows: 1,
			Advice: "run it again"})
		r.tally.Finish(r.result)
		r.dirty = true // Finish has completed the last intervals
	}
	if err := n.m.Store.PutResult(ctx, r.result); err != nil {
		return nil, err
	}
	n.runs[o.ID] = r
	return r.result, nil
}

// late updates the figures of the result of a run that is over: its start, duration,
// metrics, failures, samples, and what is missing. State, verdict, notes and thresholds
// stay.
func (r *record) late() {
	now := run.Result{Start: r.result.Start}
	r.tally.Summarize(&now)
	to := r.result
	if !now.Start.IsZero() {
		to.Start = now.Start
	}
	to.Seconds, to.Warmup, to.Metrics, to.Errors, to.Samples = now.Seconds, now.Warmup, now.Metrics, now.Errors, now.Samples
	to.Missing, to.Complete = now.Missing, now.Complete
}

// idle reports whether the record may be dropped from memory: its run is not active, all is
// in a commit, and no delivery was merged for a minute. restore brings it back.
func (r *record) idle() bool {
	return r.active == nil && !r.dirty && time.Since(r.last) > time.Minute
}

// intervalOf returns the interval of a run's series; 1 s by default.
func intervalOf(o *run.Options) time.Duration {
	if o.Interval == 0 {
		return time.Second
	}
	return seconds(o.Interval)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
