package master

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
	"github.com/gobench-io/gobench/internal/wire/compress"
)

// intake receives what agents deliver. It merges each delivery at once, for live figures,
// and stores all of them in one transaction every Times.Commit, or sooner if many arrive;
// then it acknowledges them to the agents. One goroutine merges, another one commits. take,
// trouble, with and flush may be called by any other goroutine; take, with and flush block
// until run is called.
type intake struct {
	m       *Master
	in      chan delivered
	do      chan func() // calls for the goroutine that merges
	commits chan *commit
	free    chan struct{}   // receives a value after each commit
	codec   *compress.Codec // for packed batches
	over    chan struct{}   // closed when run ends

	// Used by the goroutine that merges only.
	runs    map[string]*record
	waiting []func() // to be called once what is merged now is stored

	mu      sync.Mutex
	broken  error // why nothing can be stored any more, or nil
	figures run.Figures
	ingest  hdr.Histogram // from receipt to merged, ns
	acks    hdr.Histogram // from receipt to stored, ns
}

// delivered is a delivery with its receipt.
type delivered struct {
	*agentpb.Delivery
	receipt Receipt
}

// commit is the content of one transaction, and what is acknowledged after it.
type commit struct {
	in       run.Intake
	receipts []Receipt
	upTo     map[runStream]*agentpb.Committed
	done     []func() // to be called once it is stored
}

// newIntake returns an intake. It does nothing before run is called, once.
func newIntake(m *Master) (*intake, error) {
	codec, err := compress.New(wire.MaxMessage)
	if err != nil {
		return nil, err
	}
	return &intake{m: m, codec: codec, in: make(chan delivered), do: make(chan func()), commits: make(chan *commit, 1), free: make(chan struct{}, 1), over: make(chan struct{}), runs: map[string]*record{}}, nil
}

// errOver means that the master is ending.
var errOver = errors.New("the master ends")

// take passes a delivery to the goroutine that merges. It blocks while that is busy, so
// deliveries queue on the bus. nil means that it will be merged, or refused and redelivered;
// an error that it was not merged, as the intake has ended or can't store any more.
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

// trouble returns why nothing can be stored any more, or nil.
func (n *intake) trouble() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.broken
}

// with runs f on the goroutine that merges, and waits until f has returned. If ctx or the
// intake ends before f begins, f does not run and the error is the context's cause or
// errOver. f must not call with, flush or take.
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

// flush waits until everything merged so far is stored. If ctx or the intake ends before, the
// error is the context's cause or errOver.
func (n *intake) flush(ctx context.Context) error {
	stored := make(chan struct{})
	if err := n.with(ctx, func() { n.waiting = append(n.waiting, func() { close(stored) }) }); err != nil {
		return err
	}
	select {
	case <-stored:
		return nil
	case <-n.over:
		return errOver
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run merges and commits until ctx ends; it then stores everything that was merged and
// returns nil. If a commit can't be stored, it returns the error; what was merged since then
// is delivered again to the next process. It must be called once.
func (n *intake) run(ctx context.Context) error {
	defer close(n.over)
	committed := make(chan error, 1)
	go func() { committed <- n.commit(ctx) }()
	tick := time.NewTicker(n.m.Times.Commit)
	defer tick.Stop()
	next, idle := n.new(), true // idle: no commit is in progress
	send := func(least int) {
		if idle && len(next.receipts) >= least && n.fill(next) {
			n.commits <- next // the channel has room
			next, idle = n.new(), false
		}
	}
	for {
		select {
		case d := <-n.in:
			n.merge(ctx, d, next)
			send(manyReceipts)
		case f := <-n.do:
			f()
		case <-n.free: // everything merged meanwhile goes into one transaction
			idle = true
			send(manyReceipts)
		case <-tick.C:
			send(0)
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

// manyReceipts is the number of deliveries that are stored without waiting for the next
// tick, as when many agents deliver at the end of an interval.
const manyReceipts = 128

func (n *intake) new() *commit { return &commit{upTo: map[runStream]*agentpb.Committed{}} }

// merge merges one delivery and adds its receipt to c. A delivery that is refused, or whose
// record can't be restored, gets no receipt, so that it is redelivered; one of an unknown run,
// or that can never be merged, is acknowledged and dropped. Errors are logged. Only the
// goroutine that merges may call it.
func (n *intake) merge(ctx context.Context, d delivered, c *commit) {
	r, err := n.record(ctx, d.Run)
	if errors.Is(err, run.ErrNotFound) {
		n.m.Logger.Warn("a delivery of an unknown run", "run", d.Run, "agent", d.Agent)
		n.forget(ctx, d)
		return
	}
	if err != nil {
		n.m.Logger.Error("take in", "run", d.Run, "agent", d.Agent, "error", err)
		return // it is redelivered
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
		c.receipts = append(c.receipts, d.receipt) // the original is stored before this is
	default:
		n.mu.Lock()
		n.figures.Batches++
		n.figures.Bytes += uint64(d.receipt.Bytes)
		n.ingest.Record(int64(time.Since(d.receipt.At)))
		n.mu.Unlock()
		c.receipts = append(c.receipts, d.receipt)
	}
}

// forget acknowledges a delivery that will never be stored, at once, so that it is not
// redelivered.
func (n *intake) forget(ctx context.Context, d delivered) {
	d.receipt.Done()
	err := n.m.Bus.Committed(ctx, d.Agent, &agentpb.Committed{Run: d.Run, Epoch: d.Epoch, Number: d.Number})
	if err != nil && ctx.Err() == nil {
		n.m.Logger.Warn("notify an agent of stored deliveries", "agent", d.Agent, "error", err)
	}
}

// record returns the record of a run, and restores it from the store if it is not in memory.
// The error wraps run.ErrNotFound if there is no such run. Only the goroutine that merges
// may call it.
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

// fill moves the changed state of all runs to a commit, and drops idle records from memory. It
// reports whether the commit has anything to store or to acknowledge. Only the goroutine that
// merges may call it.
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

// commit stores commits and acknowledges each, until the channel is closed; it returns nil
// then. After an error nothing can be stored any more: trouble returns it too.
func (n *intake) commit(ctx context.Context) error {
	for c := range n.commits {
		if err := n.store(ctx, c); err != nil {
			n.mu.Lock()
			n.broken = fmt.Errorf("received batches can't be stored: %w", err)
			n.mu.Unlock()
			return err
		}
		select {
		case n.free <- struct{}{}:
		default: // the master is ending, and run reads no more
		}
	}
	return nil
}

// store stores c, by retry, and acknowledges it; it returns retry's error. Memory stays bounded:
// agents stop sending when nothing is acknowledged. What has been merged is stored even if the
// master is ending, but then there is only one attempt more: the agents deliver it to the next
// master.
func (n *intake) store(serving context.Context, c *commit) error {
	ctx := context.WithoutCancel(serving)
	err := n.m.retry(serving, "store received batches", func() error {
		for len(c.in.Totals) > 0 {
			err := n.m.Store.Take(ctx, &c.in)
			if !errors.Is(err, run.ErrNotFound) {
				return err
			}
			if dropped, wrong := n.dropDeleted(ctx, c); wrong != nil || !dropped {
				return cmp.Or(wrong, err)
			}
		}
		return nil
	})
	if err == nil {
		n.acknowledge(ctx, c)
	}
	return err
}

// dropDeleted removes what c has to store of runs that were deleted meanwhile, and reports
// whether there are any. Their deliveries stay, to be acknowledged. If the store can't be read,
// it returns the error and removes nothing.
func (n *intake) dropDeleted(ctx context.Context, c *commit) (dropped bool, err error) {
	gone := map[string]bool{}
	for _, t := range c.in.Totals { // each run of a commit is there
		switch _, err := n.m.Store.Run(ctx, t.Run); {
		case errors.Is(err, run.ErrNotFound):
			gone[t.Run] = true
		case err != nil:
			return false, err
		}
	}
	in := &c.in
	in.Batches = slices.DeleteFunc(in.Batches, func(b run.BatchKey) bool { return gone[b.Run] })
	in.Series = slices.DeleteFunc(in.Series, func(p run.SeriesPart) bool { return gone[p.Run] })
	in.Sources = slices.DeleteFunc(in.Sources, func(s run.SourceState) bool { return gone[s.Run] })
	in.Totals = slices.DeleteFunc(in.Totals, func(t run.TotalsState) bool { return gone[t.Run] })
	in.Results = slices.DeleteFunc(in.Results, func(r *run.Result) bool { return gone[r.ID] })
	return len(gone) > 0, nil
}

// acknowledge acknowledges a stored commit: to the agents, then to the bus, then to those
// who wait for it. If an agent can't be notified, that is logged; the next notice includes
// this one.
func (n *intake) acknowledge(ctx context.Context, c *commit) {
	now := time.Now()
	n.mu.Lock()
	for _, d := range c.receipts {
		n.acks.Record(int64(now.Sub(d.At)))
	}
	n.mu.Unlock()
	for t, upTo := range c.upTo {
		if err := n.m.Bus.Committed(ctx, t.agent, upTo); err != nil {
			n.m.Logger.Warn("notify an agent of stored deliveries", "agent", t.agent, "error", err)
		}
	}
	for _, d := range c.receipts {
		d.Done()
	}
	for _, f := range c.done {
		f()
	}
}

// Figures returns figures about the master itself. Counts and histograms are since its
// start. The error is the store's.
func (m *Master) Figures(ctx context.Context) (run.Figures, error) {
	unfinished, err := m.Store.Unfinished(ctx)
	if err != nil {
		return run.Figures{}, err
	}
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
	for _, o := range unfinished {
		if o.State == run.Queued {
			f.Queued++
		}
	}
	return f, nil
}

// marshal encodes a message. It panics if a text in it is not valid UTF-8.
func marshal(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err) // impossible: all texts are valid UTF-8
	}
	return b
}
