package agent

import (
	"bytes"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// How much of the executors' output is delivered.
const (
	defaultLog = 64 << 20 // bytes of a run
	logRate    = 1 << 20  // bytes a second of a run
	maxLine    = 16 << 10 // bytes of a line; the rest of it is dropped
	logChunk   = 64 << 10 // bytes of a delivery
	logPending = 1 << 20  // bytes that wait to be delivered
)

// quota is what the executors of a run together may print.
type quota struct {
	mu   sync.Mutex
	left int64     // of the run; guarded by mu, as all below
	now  float64   // of this second
	at   time.Time // when now was reckoned
}

func newQuota(bytes int64) *quota {
	if bytes <= 0 {
		bytes = defaultLog
	}
	return &quota{left: bytes, now: logRate, at: time.Now()}
}

// take gives how many of n bytes may be kept.
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

// output takes what an executor prints. Write never waits: what is too much is dropped
// and counted.
type output struct {
	quota   *quota
	deliver func(*agentpb.Log)
	stop    chan struct{}
	wg      sync.WaitGroup

	mu      sync.Mutex
	at      int64          // bytes so far; guarded by mu, as all below
	line    int            // of them in the line that goes on
	cut     bool           // some of that line was dropped
	begun   bool           // some of it was kept
	pending []*agentpb.Log // the last one grows
	bytes   int            // of pending
}

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

// Write takes all of b.
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

// take takes a line, or a piece of one. A line that is cut off keeps its end.
func (o *output) take(b []byte) {
	end := b[len(b)-1:]
	if end[0] != '\n' {
		end = nil
	}
	b = b[:len(b)-len(end)]
	keep := o.room(min(len(b), maxLine-o.line))
	o.keep(b[:keep])
	o.drop(len(b) - keep)
	o.line += len(b)
	o.cut = o.cut || keep < len(b)
	o.begun = o.begun || keep > 0
	if end == nil {
		return
	}
	if (o.begun || !o.cut) && o.room(1) == 1 { // else all of the line was dropped
		o.keep(end)
	} else {
		o.drop(1)
	}
	o.line, o.cut, o.begun = 0, false, false
}

// room is how many of n bytes may be kept now.
func (o *output) room(n int) int {
	if n <= 0 || o.bytes >= logPending {
		return 0
	}
	return o.quota.take(n)
}

func (o *output) keep(b []byte) {
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

// flush delivers what is pending.
func (o *output) flush() {
	o.mu.Lock()
	logs := o.pending
	o.pending, o.bytes = nil, 0
	o.mu.Unlock()
	for _, l := range logs {
		o.deliver(l)
	}
}

// close delivers the rest. Nothing is written after it.
func (o *output) close() {
	close(o.stop)
	o.wg.Wait()
}
