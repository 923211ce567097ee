package master

import (
	"errors"
	"fmt"
	"hash/crc64"
	"io/fs"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// stream identifies the deliveries of an agent under one epoch, which are numbered together.
type stream struct {
	agent string
	epoch uint64
}

// runStream is a stream in one of many runs.
type runStream struct {
	run string
	stream
}

// maxStreams bounds the agents and epochs of a run, and maxEarly the numbers of executors
// that print before the load is split. No honest agent exceeds them.
const (
	maxStreams = 20_000
	maxEarly   = 9_999
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
	t := stream{d.Agent, d.Epoch}
	switch last := r.positions[t]; {
	case d.Number <= last && last > 0:
		r.upTo(c, t)
		return true, nil
	case last == 0 && len(r.positions) >= maxStreams:
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
		if _, wrong := r.of(d); wrong != nil && (len(r.placements) > 0 || d.Executor > maxEarly) {
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
			r.active.stopping(int(d.Executor), time.Duration(what.Stopping))
		}
		if r.active == nil || r.active.drains() { // now: the batches of the drain come next
			r.tally.LoadOver()
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
	r.positions[t] = d.Number
	r.upTo(c, t)
	r.dirty, r.last = true, time.Now()
	return false, nil
}

func (r *record) upTo(c *commit, t stream) {
	c.upTo[runStream{r.id, t}] = &agentpb.Committed{Run: r.id, Epoch: t.epoch, Number: r.positions[t]}
}

// of returns the executor of a delivery, which is r's own, or an error if it is not one of
// that agent and epoch.
func (r *record) of(d delivered) (*agentpb.Placement, error) {
	if int(d.Executor) >= len(r.placements) {
		return nil, fmt.Errorf("executor %d is not of this run", d.Executor)
	}
	p := r.placements[d.Executor]
	if p.Agent != d.Agent || p.Epoch != d.Epoch {
		return nil, fmt.Errorf("executor %d is of agent %s (epoch %d)", d.Executor, p.Agent, p.Epoch)
	}
	return p, nil
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
	if err == nil && r.tally.Merger.Has(e, b) {
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
