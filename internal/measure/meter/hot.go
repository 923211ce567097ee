package meter

import (
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/gobench-io/gobench/internal/measure/delay"
	"github.com/gobench-io/gobench/internal/measure/hdr"
)

type kind uint8

const (
	counter kind = iota
	histogram
	gauge
	connected // recorded by a function; see NewConnected
)

// Meter records one declared metric. It is a small value that can be stored and copied, and
// safe for concurrent use. Registry.Find returns it.
type Meter struct {
	r *Registry
	m *metric
}

// metric is the part of a declaration that recording needs.
type metric struct {
	kind  kind
	slot  int // its index in the shards' counters or histograms
	gauge atomic.Int64

	// Of a histogram of times with companions (run.Role.Companions):
	disturbed, corrected *metric
	typical              atomic.Int64 // see delay.Typical, ns

	to      *connection // of a connected registry, with the next fields
	title   string
	isGauge bool
}

// Phase is the part of a run to which a recording belongs: the warm-up, which the totals leave
// out, or the measured time.
type Phase uint8

// The phases. What has none belongs to the phase of the moment at which it is recorded.
const (
	NoPhase Phase = iota
	Measured
	Warmup
	phases
)

// shard is one part of the counts.
type shard struct {
	mu  sync.Mutex
	all [phases]part // by phase, guarded by mu
	_   [64]byte     // keeps two shards' mutexes on separate cache lines
}

// part is what a shard counts of one phase.
type part struct {
	counters   []int64          // by slot; those beyond its length are 0
	histograms []*hdr.Histogram // by slot; nil or missing until recorded
}

// lock locks and returns the calling goroutine's shard; it may wait for the mutex. The
// shard is chosen by the address of the goroutine's stack, which costs nothing and spreads
// well; if the shard is locked, the next one is used. The caller must unlock it.
func (r *Registry) lock() *shard {
	var here byte
	i := uint64(uintptr(unsafe.Pointer(&here))>>12) * 0x9E3779B97F4A7C15 >> r.shift
	s := r.shards[i]
	if !s.mu.TryLock() {
		s = r.shards[(i+1)&uint64(len(r.shards)-1)]
		s.mu.Lock()
	}
	return s
}

// Record records a value: a histogram counts it, a counter adds it, a gauge is set to it. A
// histogram and a counter refuse a negative value and count it as refused, which the report
// shows; those of a connected registry pass it on.
func (m Meter) Record(v int64) { m.RecordIn(NoPhase, v) }

// RecordIn is Record of a value that belongs to a phase.
func (m Meter) RecordIn(p Phase, v int64) {
	if m.m.kind >= gauge {
		m.m.set(v)
		return
	}
	s := m.r.lock()
	ok := s.all[p].record(m.m, v)
	s.mu.Unlock()
	if !ok {
		m.r.refused.Add(1)
	}
}

// Add adds n to a counter or to a gauge; a histogram counts n, as Record does. Only a gauge
// accepts a negative n: others refuse it as Record does.
func (m Meter) Add(n int64) {
	if m.m.kind >= gauge {
		m.m.add(n)
		return
	}
	m.Record(n)
}

// Set sets a gauge; on other metrics it is Record.
func (m Meter) Set(v int64) { m.Record(v) }

// Entry is a group of recordings that belong together: they cost one lock and are always in
// the same cut. The caller must Close it at once: until then it blocks the other goroutines
// of its shard, and recording outside of it, declaring or cutting can deadlock.
type Entry struct {
	r  *Registry
	s  *shard
	to *part
}

// Entry begins a group of recordings of a phase. The caller must Close it.
func (r *Registry) Entry(p Phase) Entry {
	s := r.lock()
	return Entry{r, s, &s.all[p]}
}

// Record is like Meter.Record, within the entry. m must be of the same registry.
func (e Entry) Record(m Meter, v int64) {
	if m.m.kind >= gauge {
		m.m.set(v)
		return
	}
	if !e.to.record(m.m, v) {
		e.r.refused.Add(1)
	}
}

// Add is like Meter.Add, within the entry. m must be of the same registry.
func (e Entry) Add(m Meter, n int64) {
	if m.m.kind >= gauge {
		m.m.add(n)
		return
	}
	e.Record(m, n)
}

// RecordTime is Record of how long an operation took, of which own is gobench's own part. If that is
// more than gobench always takes, the companions of m record it.
func (e Entry) RecordTime(m Meter, took time.Duration, own delay.Own) {
	e.Record(m, int64(took))
	d := m.m.disturbed
	if d == nil {
		return
	}
	if least, ok := own.Least(took, time.Duration(m.m.typical.Load())); ok {
		e.to.record(d, int64(max(took, 0)))
		e.to.record(m.m.corrected, int64(least))
	}
}

// Close ends the entry and unlocks its shard.
func (e Entry) Close() { e.s.mu.Unlock() }

// record counts v and reports whether it was accepted: not if it is negative. m is a
// counter or a histogram. The caller must hold the shard's mutex.
func (p *part) record(m *metric, v int64) bool {
	if v < 0 {
		return false
	}
	if m.kind == counter {
		if m.slot >= len(p.counters) {
			p.counters = append(p.counters, make([]int64, m.slot+1-len(p.counters))...)
		}
		p.counters[m.slot] += v
		return true
	}
	if m.slot >= len(p.histograms) {
		p.histograms = append(p.histograms, make([]*hdr.Histogram, m.slot+1-len(p.histograms))...)
	}
	h := p.histograms[m.slot]
	if h == nil {
		h = new(hdr.Histogram)
		p.histograms[m.slot] = h
	}
	h.Record(v)
	return true
}
