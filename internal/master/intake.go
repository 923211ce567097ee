package master

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
	"github.com/gobench-io/gobench/internal/wire/compress"
)

// intake takes in what agents deliver: it merges at once, so that what is live is live,
// and keeps it in one transaction every 200 ms, or as soon as the store is free where much
// has come; then the agents are told. One goroutine merges, another one commits.
type intake struct {
	m       *Master
	in      chan delivered
	do      chan func() // for the goroutine that merges
	commits chan *commit
	free    chan struct{}   // a commit is kept
	codec   *compress.Codec // of batches that come packed
	over    chan struct{}   // closed when nothing is merged any more

	runs    map[string]*record // of the goroutine that merges
	waiting []func()           // of the goroutine that merges: for what is merged to be kept

	mu      sync.Mutex
	broken  error // why nothing is kept any more, guarded by mu
	figures run.Figures
	ingest  hdr.Histogram // receipt to merged, ns, guarded by mu
	acks    hdr.Histogram // receipt to committed, ns, guarded by mu
}

// delivered is a delivery on its way.
type delivered struct {
	*agentpb.Delivery
	receipt Receipt
}

// commit is what goes into one transaction, and who is told then.
type commit struct {
	in       run.Intake
	receipts []Receipt
	upTo     map[taking]*agentpb.Committed
	done     []func() // to be called when it is kept
}

func newIntake(m *Master) (*intake, error) {
	codec, err := compress.New(wire.MaxMessage)
	if err != nil {
		return nil, err
	}
	return &intake{m: m, codec: codec, in: make(chan delivered), do: make(chan func()), commits: make(chan *commit, 1), free: make(chan struct{}, 1), over: make(chan struct{}), runs: map[string]*record{}}, nil
}

// errOver means that the master ends.
var errOver = errors.New("the master ends")

// take has a delivery merged: what waits for that waits on the bus.
func (n *intake) take(d *agentpb.Delivery, r Receipt) error {
	if err := n.trouble(); err != nil {
		return err
	}
	if r.At.IsZero() {
		r.At = time.Now()
	}
	select {
	case n.in <- delivered{d, r}:
		return nil
	case <-n.over:
		return errOver
	}
}

// trouble is why nothing can be kept; nil: all is well.
func (n *intake) trouble() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.broken
}

// with runs f on the goroutine that merges, and waits for it.
func (n *intake) with(ctx context.Context, f func()) error {
	done := make(chan struct{})
	select {
	case n.do <- func() { defer close(done); f() }:
	case <-n.over:
		return errOver
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	<-done
	return nil
}

// flush returns when all that was merged so far is kept.
func (n *intake) flush(ctx context.Context) error {
	kept := make(chan struct{})
	if err := n.with(ctx, func() { n.waiting = append(n.waiting, func() { close(kept) }) }); err != nil {
		return err
	}
	select {
	case <-kept:
		return nil
	case <-n.over:
		return errors.New("the master ends")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run works until ctx ends; what was merged by then is committed.
func (n *intake) run(ctx context.Context) error {
	defer close(n.over)
	committed := make(chan error, 1)
	go func() { committed <- n.commit(ctx) }()
	tick := time.NewTicker(n.m.Times.Commit)
	defer tick.Stop()
	next, kept := n.new(), true // kept: nothing is on its way to the store
	keep := func(least int) {
		if kept && len(next.receipts) >= least && n.fill(next) {
			n.commits <- next // which has room
			next, kept = n.new(), false
		}
	}
	for {
		select {
		case d := <-n.in:
			n.merge(ctx, d, next)
			keep(manyReceipts)
		case f := <-n.do:
			f()
		case <-n.free: // all that has come meanwhile goes into one transaction
			kept = true
			keep(manyReceipts)
		case <-tick.C:
			keep(0)
		case err := <-committed:
			return err
		case <-ctx.Done():
			if n.fill(next) {
				select {
				case n.commits <- next:
				case err := <-committed:
					return err
				}
			}
			close(n.commits)
			return <-committed
		}
	}
}

// manyReceipts are enough deliveries for a transaction at once: those of many agents,
// which all come at an interval's end, do not wait for the next tick.
const manyReceipts = 128

func (n *intake) new() *commit { return &commit{upTo: map[taking]*agentpb.Committed{}} }

// merge takes one delivery in.
func (n *intake) merge(ctx context.Context, d delivered, c *commit) {
	r, err := n.record(ctx, d.Run)
	if errors.Is(err, run.ErrNotFound) {
		n.m.Logger.Warn("a delivery of a run that is not kept", "run", d.Run, "agent", d.Agent)
		n.forget(ctx, d)
		return
	}
	if err != nil {
		n.m.Logger.Error("take in", "run", d.Run, "agent", d.Agent, "error", err)
		return // it comes again
	}
	switch repeat, err := r.take(d, c); {
	case errors.Is(err, errLost):
		n.m.Logger.Warn("a delivery is given up", "run", d.Run, "agent", d.Agent, "epoch", d.Epoch, "number", d.Number, "error", err)
		n.forget(ctx, d)
	case err != nil:
		n.m.Logger.Warn("a delivery is refused", "run", d.Run, "agent", d.Agent, "epoch", d.Epoch, "number", d.Number, "error", err)
	case repeat:
		n.mu.Lock()
		n.figures.Repeats++
		n.mu.Unlock()
		c.receipts = append(c.receipts, d.receipt) // the next transaction has what it repeats, at the latest
	default:
		n.mu.Lock()
		n.figures.Batches++
		n.figures.Bytes += uint64(d.receipt.Bytes)
		n.ingest.Record(int64(time.Since(d.receipt.At)))
		n.mu.Unlock()
		c.receipts = append(c.receipts, d.receipt)
	}
}

// forget has a delivery that is kept already, or never will be, not come again.
func (n *intake) forget(ctx context.Context, d delivered) {
	d.receipt.Done()
	err := n.m.Bus.Committed(ctx, d.Agent, &agentpb.Committed{Run: d.Run, Epoch: d.Epoch, Number: d.Number})
	if err != nil && ctx.Err() == nil {
		n.m.Logger.Warn("tell an agent what is kept", "agent", d.Agent, "error", err)
	}
}

// record gives what is known of a run, from the store where need be.
func (n *intake) record(ctx context.Context, id string) (*record, error) {
	if r := n.runs[id]; r != nil {
		return r, nil
	}
	r, err := restore(ctx, n.m, id)
	if err == nil {
		n.runs[id] = r
	}
	return r, err
}

// fill completes a commit with what the runs have become; false: nothing has changed.
func (n *intake) fill(c *commit) bool {
	for id, r := range n.runs {
		r.fill(c)
		if r.idle() {
			delete(n.runs, id)
		}
	}
	c.done, n.waiting = append(c.done, n.waiting...), nil
	return len(c.receipts)+len(c.in.Totals)+len(c.done) > 0
}

// commit keeps what comes, and tells the agents.
func (n *intake) commit(ctx context.Context) error {
	// What has been merged is kept though the master ends.
	ctx = context.WithoutCancel(ctx)
	for c := range n.commits {
		if err := n.keep(ctx, c); err != nil {
			n.mu.Lock()
			n.broken = fmt.Errorf("what is counted can't be kept: %w", err)
			n.mu.Unlock()
			return err
		}
		select {
		case n.free <- struct{}{}:
		default: // the master ends, and nobody asks any more
		}
	}
	return nil
}

// keep tries until the store has c: it may be full for a time. Memory is bounded, as
// agents stop sending what is not committed.
func (n *intake) keep(ctx context.Context, c *commit) error {
	wait, tries := 100*time.Millisecond, 0
	for {
		var err error
		if len(c.in.Totals) > 0 {
			err = n.m.Store.Take(ctx, &c.in)
		}
		var taken *run.TakenError
		switch {
		case err == nil:
			n.kept(ctx, c)
			return nil
		case errors.As(err, &taken):
			return err // two masters, or a liar: the operator must look
		}
		if tries++; tries > maxTries {
			return err
		}
		n.m.Logger.Error("keep what was counted", "error", err, "again_in", wait)
		time.Sleep(wait)
		wait = min(2*wait, 5*time.Second)
	}
}

// maxTries is how often a transaction is tried: for about a minute.
const maxTries = 18

// kept tells everybody what the store has now.
func (n *intake) kept(ctx context.Context, c *commit) {
	now := time.Now()
	n.mu.Lock()
	for _, d := range c.receipts {
		n.acks.Record(int64(now.Sub(d.At)))
	}
	n.mu.Unlock()
	for t, upTo := range c.upTo {
		if err := n.m.Bus.Committed(ctx, t.agent, upTo); err != nil {
			n.m.Logger.Warn("tell an agent what is kept", "agent", t.agent, "error", err)
		}
	}
	for _, d := range c.receipts {
		d.Done()
	}
	for _, f := range c.done {
		f()
	}
}

// Figures are the master's own.
func (m *Master) Figures() run.Figures {
	n := m.intake
	n.mu.Lock()
	f := n.figures
	f.Ingest, f.Ack = n.ingest.Append(nil), n.acks.Append(nil)
	n.mu.Unlock()
	for _, w := range m.fleet.snapshot() {
		if w.state == agentReady || w.state == agentBusy {
			f.Agents++
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.active != nil {
		f.Active = m.active.id
	}
	f.Queued = len(m.waiting)
	return f
}

func marshal(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err) // its texts come from other messages or are our own
	}
	return b
}
