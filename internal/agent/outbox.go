package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/agent/spool"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// sendWindow is how many deliveries of a queue are sent and not committed at most.
const sendWindow = 64

// outbox stores deliveries in spools, one for each run and epoch, and sends them until they
// are committed. Its methods may be called by any number of goroutines.
type outbox struct {
	dir   string
	agent string
	bus   Bus
	log   *slog.Logger
	times Times
	wake  chan struct{} // holds one element if there is something to send

	mu     sync.Mutex // never held during disk operations: beats need it
	queues []*queue   // oldest first; guarded by mu
}

// queue holds the deliveries of a run and an epoch.
type queue struct {
	run   string
	epoch uint64
	spool *spool.Spool

	mu        sync.Mutex
	sent      uint64    // last number that the bus has stored; guarded by mu, as all below
	committed uint64    // last number that the master has committed
	since     time.Time // of the last commit, or of the first sending after it
	over      uint64    // number of the last delivery; 0 until it exists
	troubled  bool      // the spool's trouble has been reported
}

// openOutbox opens the spools in dir, which it creates if needed, that previous processes
// of the agent left. It ignores other entries of dir. If one cannot be opened, it closes
// all. The caller must close the outbox.
func openOutbox(dir, agent string, bus Bus, log *slog.Logger, times Times) (*outbox, error) {
	o := &outbox{dir: dir, agent: agent, bus: bus, log: log, times: times, wake: make(chan struct{}, 1)}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir) // by name: run ids sort by time
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		end := strings.LastIndexByte(e.Name(), '-')
		if end < 0 {
			continue
		}
		epoch, err := strconv.ParseUint(e.Name()[end+1:], 10, 64)
		if err != nil {
			continue // not a spool
		}
		if _, err := o.open(e.Name()[:end], epoch); err != nil {
			o.close()
			return nil, err
		}
	}
	return o, nil
}

// path returns the folder of a queue's spool.
func (o *outbox) path(run string, epoch uint64) string {
	return filepath.Join(o.dir, fmt.Sprintf("%s-%d", run, epoch))
}

// open returns the queue of a run and an epoch, which it opens, and creates if needed, unless
// it is open already. It must not be called concurrently. run names a folder and is not
// checked.
func (o *outbox) open(run string, epoch uint64) (*queue, error) {
	if q := o.find(run, epoch); q != nil {
		return q, nil
	}
	sp, err := spool.Open(o.path(run, epoch), spool.Options{Safe: o.notify})
	if err != nil {
		return nil, err
	}
	q := &queue{run: run, epoch: epoch, spool: sp}
	if last := sp.Last(); last > 0 {
		if n, body, ok, err := sp.Next(last - 1); err == nil && ok {
			var d agentpb.Delivery
			if proto.Unmarshal(body, &d) == nil && d.GetOver() {
				q.over = n
			}
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queues = append(o.queues, q)
	return q, nil
}

// notify wakes the sender. It never blocks.
func (o *outbox) notify() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// deliver stores a delivery in a queue, to be sent; d is not changed. If the disk fails and
// the memory for that case is full, it stores nothing and returns an error that wraps
// spool.ErrFull, unless essential is true, as it is for how an executor ended. After close the
// error wraps os.ErrClosed.
func (o *outbox) deliver(q *queue, d *agentpb.Delivery, essential bool) error {
	body, err := proto.Marshal(d)
	if err != nil {
		return err
	}
	if d.GetOver() { // its commit, which may come at once, needs q.over
		q.mu.Lock()
		defer q.mu.Unlock()
	}
	n, err := q.spool.Append(body, essential)
	if err != nil {
		return fmt.Errorf("store a delivery: %w", err)
	}
	if d.GetOver() {
		q.over = n
	}
	return nil
}

// trouble returns, once, why a queue is stored in memory only. It returns nil while the
// disk works, and after it has returned a reason.
func (q *queue) trouble() error {
	err := q.spool.Trouble()
	q.mu.Lock()
	defer q.mu.Unlock()
	if err == nil || q.troubled {
		return nil
	}
	q.troubled = true
	return err
}

// committed deletes the deliveries that the master has committed, and the queue with its
// spool once the last one is. It ignores a queue that is not open.
func (o *outbox) committed(c *agentpb.Committed) {
	q := o.find(c.Run, c.Epoch)
	if q != nil && q.commit(c.Number) {
		o.mu.Lock()
		o.queues = slices.DeleteFunc(o.queues, func(other *queue) bool { return other == q })
		o.mu.Unlock()
		if err := q.spool.Remove(); err != nil {
			o.log.Warn("delete committed deliveries", "run", q.run, "error", err)
		}
	}
	o.notify()
}

// find returns the open queue of a run and an epoch, or nil.
func (o *outbox) find(run string, epoch uint64) *queue {
	for _, q := range o.all() {
		if q.run == run && q.epoch == epoch {
			return q
		}
	}
	return nil
}

// commit deletes the deliveries up to the number n and reports whether Over, the last one
// of the queue, is committed.
func (q *queue) commit(n uint64) (all bool) {
	n = min(n, q.spool.Last())
	q.mu.Lock()
	if n > q.committed {
		q.committed, q.since = n, time.Now()
		q.sent = max(q.sent, n)
	}
	all = q.over > 0 && q.committed >= q.over
	q.mu.Unlock()
	q.spool.Forget(n)
	return all
}

// unsaved returns how many deliveries of all queues are not committed, and the age of the
// oldest, or 0. It never waits for the disk.
func (o *outbox) unsaved() (n int64, age time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, q := range o.queues {
		of, oldest := q.spool.Unsaved()
		n += of
		if !oldest.IsZero() {
			age = max(age, time.Since(oldest))
		}
	}
	return n, age
}

// warnEvery is how often a bus that fails is logged.
const warnEvery = time.Minute

// send sends deliveries until ctx ends. After a failure, which it logs, it sends all again
// that is not committed, after a pause of Times.Retry, which doubles up to Times.RetryMax.
// It must be called once.
func (o *outbox) send(ctx context.Context) {
	tick := time.NewTicker(min(o.times.Resend, time.Second))
	defer tick.Stop()
	pause := o.times.Retry
	var warned time.Time
	for ctx.Err() == nil {
		if err := o.round(ctx); err != nil {
			if ctx.Err() == nil && time.Since(warned) >= warnEvery {
				warned = time.Now()
				o.log.Warn("deliveries cannot be sent; trying again", "error", err)
			}
			o.again()
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
			pause = min(2*pause, o.times.RetryMax)
			continue
		}
		pause = o.times.Retry
		select {
		case <-o.wake:
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// again marks all that is not committed as not sent, since the connection was lost.
func (o *outbox) again() {
	for _, q := range o.all() {
		q.mu.Lock()
		q.sent = q.committed
		q.mu.Unlock()
	}
}

// all returns a copy of queues.
func (o *outbox) all() []*queue {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]*queue(nil), o.queues...)
}

// round sends what the windows of the queues allow, the oldest queue first. It returns the
// first error of the bus (also if ctx ends during a delivery), and sends no more then.
func (o *outbox) round(ctx context.Context) error {
	for _, q := range o.all() {
		for {
			above, ok := q.window(o.times.Resend)
			if !ok {
				break
			}
			d := o.next(q, above)
			if d == nil {
				break
			}
			limited, cancel := context.WithTimeout(ctx, o.times.Send)
			err := o.bus.Deliver(limited, d)
			cancel()
			if err != nil {
				return err
			}
			q.mu.Lock()
			if q.sent == q.committed {
				q.since = time.Now()
			}
			q.sent = max(q.sent, d.Number)
			q.mu.Unlock()
		}
	}
	return nil
}

// next returns the first delivery of a queue whose number is above the given one, or nil if
// it does not exist yet. In place of one that can never be delivered, as it is lost, damaged
// or too large for the bus, it returns a note that says so, with its number: the deliveries
// behind it, and those of other queues, must not wait for it. It logs that.
func (o *outbox) next(q *queue, above uint64) *agentpb.Delivery {
	n, body, ok, err := q.spool.Next(above)
	if !ok {
		return nil
	}
	q.mu.Lock()
	above = max(above, q.committed) // Next was called after the records before were deleted
	q.mu.Unlock()
	d := new(agentpb.Delivery)
	switch {
	case above > 0 && n > above+1: // spool.Open has cut off a damaged record and those behind it
		n, err = above+1, errors.New("it is not on the disk any more")
	case err == nil:
		err = proto.Unmarshal(body, d)
	}
	d.Number, d.First = n, min(n, q.spool.First())
	if size := proto.Size(d); err == nil && size > agentpb.MaxDelivery {
		err = fmt.Errorf("it has %d bytes, and at most %d are allowed", size, agentpb.MaxDelivery)
	}
	if err != nil {
		o.log.Error("a delivery is lost", "run", q.run, "number", n, "error", err)
		d = &agentpb.Delivery{Run: q.run, Agent: o.agent, Epoch: q.epoch, Number: n, First: d.First, What: &agentpb.Delivery_Note{
			Note: fmt.Sprintf("agent %s has lost something that it had to deliver: %v", o.agent, err)}}
	}
	return d
}

// window returns the number of the last delivery sent, and whether the next may be sent:
// fewer than sendWindow are not committed. If nothing was committed for resend, sending
// starts again after the last commit.
func (q *queue) window(resend time.Duration) (above uint64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.sent > q.committed && time.Since(q.since) > resend {
		q.sent = q.committed
	}
	return q.sent, q.sent-q.committed < sendWindow
}

// sent reports whether the bus has stored all deliveries of all queues.
func (o *outbox) sent() bool {
	for _, q := range o.all() {
		q.mu.Lock()
		sent := q.sent
		q.mu.Unlock()
		if sent < q.spool.Last() {
			return false
		}
	}
	return true
}

// close closes all spools and returns their joined errors. What is not committed remains
// for the next start. send must have returned.
func (o *outbox) close() error {
	var errs []error
	for _, q := range o.all() {
		errs = append(errs, q.spool.Close())
	}
	return errors.Join(errs...)
}
