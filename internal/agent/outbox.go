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

// outbox keeps deliveries in spools, one for each run and epoch, and sends them until
// they are committed. Its methods may be called at once by any goroutine.
type outbox struct {
	dir   string
	agent string
	bus   Bus
	log   *slog.Logger
	times Times
	wake  chan struct{} // holds one: there is something to send

	mu     sync.Mutex // never held while the disk is at work: beats need it
	queues []*queue   // the oldest first; guarded by mu
}

// queue holds the deliveries of a run and an epoch.
type queue struct {
	run   string
	epoch uint64
	spool *spool.Spool

	mu        sync.Mutex
	sent      uint64    // last number that the bus has taken; guarded by mu, as all below
	committed uint64    // last number that the master has
	since     time.Time // when something was last committed, or first sent since
	over      uint64    // number of the last delivery; 0: it is yet to come
	troubled  bool      // the spool's trouble was told
}

// openOutbox opens the spools that an earlier life left.
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
			continue // nothing of ours
		}
		if _, err := o.open(e.Name()[:end], epoch); err != nil {
			o.close()
			return nil, err
		}
	}
	return o, nil
}

func (o *outbox) path(run string, epoch uint64) string {
	return filepath.Join(o.dir, fmt.Sprintf("%s-%d", run, epoch))
}

// open opens the queue of a run and an epoch, or gives it where it is open. One call
// follows the other.
func (o *outbox) open(run string, epoch uint64) (*queue, error) {
	if q := o.find(run, epoch); q != nil {
		return q, nil
	}
	sp, err := spool.Open(o.path(run, epoch), spool.Options{Safe: o.hurry})
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

// hurry has the sender look.
func (o *outbox) hurry() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// deliver keeps a delivery of a queue, to be sent. A last word, as how an executor ended,
// is kept beyond the bound that holds for a disk that is full.
func (o *outbox) deliver(q *queue, d *agentpb.Delivery, lastWord bool) error {
	body, err := proto.Marshal(d)
	if err != nil {
		return err
	}
	if d.GetOver() { // its commit, which can come at once, must find it known
		q.mu.Lock()
		defer q.mu.Unlock()
	}
	n, err := q.spool.Append(body, lastWord)
	if err != nil {
		return fmt.Errorf("keep what is to be delivered: %w", err)
	}
	if d.GetOver() {
		q.over = n
	}
	return nil
}

// trouble gives why a queue is kept in memory, the first time that it is.
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

// committed forgets what the master has.
func (o *outbox) committed(c *agentpb.Committed) {
	q := o.find(c.Run, c.Epoch)
	if q != nil && q.commit(c.Number) {
		o.mu.Lock()
		o.queues = slices.DeleteFunc(o.queues, func(other *queue) bool { return other == q })
		o.mu.Unlock()
		if err := q.spool.Remove(); err != nil {
			o.log.Warn("delete what is delivered", "run", q.run, "error", err)
		}
	}
	o.hurry()
}

// find gives the queue of a run and an epoch; nil: there is none.
func (o *outbox) find(run string, epoch uint64) *queue {
	for _, q := range o.all() {
		if q.run == run && q.epoch == epoch {
			return q
		}
	}
	return nil
}

// commit forgets up to a number and tells whether that was all.
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

// unsaved is how many deliveries are not committed, and the age of the oldest.
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

// send sends what is to be sent until ctx ends.
func (o *outbox) send(ctx context.Context) {
	tick := time.NewTicker(min(o.times.Resend, time.Second))
	defer tick.Stop()
	pause := o.times.Retry
	for ctx.Err() == nil {
		if err := o.round(ctx); err != nil {
			o.log.Debug("deliver", "error", err)
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

// again has all that is not committed sent once more: the connection was lost.
func (o *outbox) again() {
	for _, q := range o.all() {
		q.mu.Lock()
		q.sent = q.committed
		q.mu.Unlock()
	}
}

func (o *outbox) all() []*queue {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]*queue(nil), o.queues...)
}

// round sends what may be sent now, the oldest queue first.
func (o *outbox) round(ctx context.Context) error {
	for _, q := range o.all() {
		for {
			above, ok := q.window(o.times.Resend)
			if !ok {
				break
			}
			n, body, ok, err := q.spool.Next(above)
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			d := new(agentpb.Delivery)
			if err := proto.Unmarshal(body, d); err != nil {
				return fmt.Errorf("delivery %d of run %s: %w", n, q.run, err)
			}
			d.Number, d.First = n, q.spool.First()
			limited, cancel := context.WithTimeout(ctx, o.times.Send)
			err = o.bus.Deliver(limited, d)
			cancel()
			if err != nil {
				return err
			}
			q.mu.Lock()
			if q.sent == q.committed {
				q.since = time.Now()
			}
			q.sent = max(q.sent, n)
			q.mu.Unlock()
		}
	}
	return nil
}

// window gives the number above which is to be sent, while the window has room.
func (q *queue) window(resend time.Duration) (above uint64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.sent > q.committed && time.Since(q.since) > resend {
		q.sent = q.committed
	}
	return q.sent, q.sent-q.committed < sendWindow
}

// sent tells whether the bus has all.
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

// close closes all spools. What is not committed is there at the next start.
func (o *outbox) close() error {
	var errs []error
	for _, q := range o.all() {
		errs = append(errs, q.spool.Close())
	}
	return errors.Join(errs...)
}
