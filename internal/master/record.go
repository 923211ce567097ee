package master

import (
	"slices"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/measure/monitor"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// record is the merged state of a run. Its methods may be called by the goroutine that
// merges only, and before that one starts by Serve.
type record struct {
	m          *Master
	id         string
	interval   time.Duration
	tally      *monitor.Tally
	positions  map[stream]uint64    // number of the last merged delivery
	placements []*agentpb.Placement // executors
	active     *active              // nil if the run is over
	result     *run.Result          // of a run that is over; late deliveries change it

	unlogged bool // a piece of output was lost
	dirty    bool
	waiting  []func() // to be called once the present state is stored
	keys     []run.BatchKey
	parts    []run.SeriesPart
	changed  map[int]bool // executors
	last     time.Time    // of the last delivery
	since    time.Time    // the load did not begin before
}

// newRecord returns the record of a run without executors, which the caller adds. a is nil
// for a run that is not active; its events are dropped then.
func newRecord(m *Master, id string, interval time.Duration, a *active) *record {
	r := &record{m: m, id: id, interval: interval, positions: map[stream]uint64{}, active: a, changed: map[int]bool{}, last: time.Now(), since: time.Now()}
	r.tally = monitor.New(r.options())
	r.tally.Merger.OnPart(r.part)
	return r
}

// options returns the options of the run's tally: it emits the tally's events, and ends the
// load of an active run whose threshold has abort.
func (r *record) options() monitor.Options {
	return monitor.Options{Interval: r.interval, Emit: r.emit, Abort: func() {
		if r.active != nil {
			r.active.abort()
		}
	}}
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

// fill moves to a commit what has changed since the last call, or since the record was made:
// batches, series, states, and the functions that whenStored and others wait for; for a run
// that is over it adds the corrected result. It adds nothing if nothing has changed.
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
		p := r.placements[e]
		seq, _ := m.Seq(e)
		c.in.Sources = append(c.in.Sources, run.SourceState{Run: r.id, Executor: e, Epoch: p.Epoch, Agent: p.Agent, Seq: seq, State: m.SourceState(e)})
	}
	c.in.Totals = append(c.in.Totals, run.TotalsState{Run: r.id, State: r.state()})
	c.done = append(c.done, r.waiting...)
	r.keys, r.parts, r.waiting = nil, nil, nil
	clear(r.changed)
	if r.result != nil { // a late batch changes the stored result
		r.tally.Update(r.result)
		if r.result.Complete {
			r.result.Notes = slices.DeleteFunc(r.result.Notes, func(s string) bool { return strings.HasPrefix(s, provisional) })
		}
		r.result.Hosts = slices.Clone(r.result.Hosts)
		for i := range r.result.Hosts {
			if h := &r.result.Hosts[i]; h.Lost > 0 {
				h.Lost = r.reported(h.Agent).Seconds()
			}
		}
		result := *r.result
		c.in.Results = append(c.in.Results, &result)
	}
}

// whenStored returns a channel that is closed once the record's present state is stored; never
// if that fails. The next fill passes it on.
func (r *record) whenStored() <-chan struct{} {
	stored := make(chan struct{})
	r.dirty = true
	r.waiting = append(r.waiting, func() { close(stored) })
	return stored
}

// state returns the record's state for the store, encoded.
func (r *record) state() []byte {
	k := &agentpb.RecordState{Merged: r.tally.Merger.State(), IntervalNs: int64(r.interval), Executors: r.placements}
	for t, n := range r.positions {
		k.Positions = append(k.Positions, &agentpb.Position{Agent: t.agent, Epoch: t.epoch, Number: n})
	}
	return marshal(k)
}

// reported returns the time, since the begin of the load, up to which an agent's executors have
// delivered what they counted, the last of them; above 0 also if none has.
func (r *record) reported(agent string) time.Duration {
	last := time.Millisecond
	for e, p := range r.placements {
		if to, _ := r.tally.Merger.Reported(e); p.Agent == agent {
			last = max(last, to)
		}
	}
	return last
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
