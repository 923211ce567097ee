package agent

import (
	"bytes"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// Bounds of the executors' output that is delivered.
const (
	defaultLog = 64 << 20 // bytes of a run
	logRate    = 1 << 20  // bytes a second of a run
	maxLine    = 16 << 10 // bytes of a line; the rest of it is dropped
	logChunk   = 64 << 10 // bytes of a delivery
	logPending = 1 << 20  // bytes that wait to be delivered
)

// quota is what the executors of a run together may print. Its methods may be called by any
// number of goroutines.
type quota struct {
	mu   sync.Mutex
	left int64     // of the run; guarded by mu, as all below
	now  float64   // of this second
	at   time.Time // when now was computed
}

// newQuota returns the quota of a run, in bytes; 0 or less means defaultLog.
func newQuota(bytes int64) *quota {
	if bytes <= 0 {
		bytes = defaultLog
	}
	return &quota{left: bytes, now: logRate, at: time.Now()}
}

// take returns how many of n bytes may be delivered now, 0 to n, and subtracts them: of the
// run's total, and of a rate of logRate with bursts of a second. It never waits.
func (q *quota) take(n int) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := time.Now()
	q.now = min(q.now+t.Sub(q.at).Seconds()*logRate, logRate)
	q.at = t
	n = int(min(int64(n), q.left, int64(q.now)))
	q.left -= int64(n)
	q.now -= float64(n)
	return n
}

// output delivers what an executor prints. Write never blocks: what exceeds the bounds is
// dropped and counted.
type output struct {
	quota   *quota
	deliver func(*agentpb.Log)
	stop    chan struct{}
	wg      sync.WaitGroup

	mu      sync.Mutex
	at      int64          // bytes so far; guarded by mu, as all below
	line    int            // of them in the unfinished line
	cut     bool           // some of that line was dropped
	begun   bool           // some of it is delivered
	pending []*agentpb.Log // the last one is appended to
	bytes   int            // of pending
}

// newOutput returns an output that calls deliver every so often, from one goroutine, with what
// was written since. deliver may block: Write does not wait for it. every must be positive.
// The caller must close the output.
func newOutput(q *quota, every time.Duration, deliver func(*agentpb.Log)) *output {
	o := &output{quota: q, deliver: deliver, stop: make(chan struct{})}
	o.wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				o.flush()
			case <-o.stop:
				o.flush()
				return
			}
		}
	})
	return o
}

// Write accepts all of b, of which it makes a copy. It returns no error and never blocks.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for rest := b; len(rest) > 0; {
		part := rest
		if end := bytes.IndexByte(rest, '\n'); end >= 0 {
			part = rest[:end+1]
		}
		rest = rest[len(part):]
		o.take(part)
	}
	return len(b), nil
}

// take adds a line, or a part of one, as far as maxLine and room allow, and drops the rest: b
// is not empty, and has no newline except at its end. A line that is cut still ends in a
// newline if the bounds allow that. The caller must hold mu.
func (o *output) take(b []byte) {
	end := b[len(b)-1:]
	if end[0] != '\n' {
		end = nil
	}
	b = b[:len(b)-len(end)]
	room := o.room(min(len(b), maxLine-o.line))
	o.append(b[:room])
	o.drop(len(b) - room)
	o.line += len(b)
	o.cut = o.cut || room < len(b)
	o.begun = o.begun || room > 0
	if end == nil {
		return
	}
	if (o.begun || !o.cut) && o.room(1) == 1 { // unless all of the line was dropped
		o.append(end)
	} else {
		o.drop(1)
	}
	o.line, o.cut, o.begun = 0, false, false
}

// room returns how many of n bytes may be delivered now, 0 to n, and takes them from the
// run's quota: the caller must append as many. It returns 0 while logPending bytes or more
// wait to be delivered. The caller must hold mu.
func (o *output) room(n int) int {
	if n <= 0 || o.bytes >= logPending {
		return 0
	}
	return o.quota.take(n)
}

// append adds a copy of b to what is pending, in parts of at most logChunk bytes. The
// caller must hold mu.
func (o *output) append(b []byte) {
	for len(b) > 0 {
		var last *agentpb.Log
		if n := len(o.pending); n > 0 {
			last = o.pending[n-1]
		}
		if last == nil || last.Dropped > 0 || len(last.Text) >= logChunk {
			last = &agentpb.Log{Offset: o.at}
			o.pending = append(o.pending, last)
		}
		n := min(len(b), logChunk-len(last.Text))
		last.Text = append(last.Text, b[:n]...)
		b = b[n:]
		o.at += int64(n)
		o.bytes += n
	}
}

// drop counts n bytes as dropped behind what is pending. The caller must hold mu.
func (o *output) drop(n int) {
	if n == 0 {
		return
	}
	if len(o.pending) == 0 {
		o.pending = append(o.pending, &agentpb.Log{Offset: o.at})
	}
	o.pending[len(o.pending)-1].Dropped += int64(n)
	o.at += int64(n)
}

// flush delivers what is pending, in order. It does not hold mu during deliver. It must not be
// called concurrently.
func (o *output) flush() {
	o.mu.Lock()
	logs := o.pending
	o.pending, o.bytes = nil, 0
	o.mu.Unlock()
	for _, l := range logs {
		o.deliver(l)
	}
}

// close delivers the rest and waits for that. It must be called once, and Write not after
// it.
func (o *output) close() {
	close(o.stop)
	o.wg.Wait()
}
