package health

import (
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"time"
)

// goRuntime reads the Go runtime's metrics (package runtime/metrics). The caller must call
// open once, before read.
type goRuntime struct {
	samples   []metrics.Sample
	latencies counts // how long goroutines were runnable and did not run; one in eight is sampled
	pauses    counts
	gc, total float64 // CPU seconds so far, without what ran on idle CPUs
}

const (
	schedLatencies = iota
	gcPauses
	gcTotal
	gcIdle
	cpuTotal
)

// open sets which metrics read reads.
func (g *goRuntime) open() {
	for _, name := range []string{
		schedLatencies: "/sched/latencies:seconds",
		gcPauses:       "/sched/pauses/total/gc:seconds",
		gcTotal:        "/cpu/classes/gc/total:cpu-seconds",
		gcIdle:         "/cpu/classes/gc/mark/idle:cpu-seconds",
		cpuTotal:       "/cpu/classes/total:cpu-seconds",
	} {
		g.samples = append(g.samples, metrics.Sample{Name: name})
	}
}

// minLatencies is how many waits a 99th percentile needs.
const minLatencies = 100

// read records the figures since the last call, the first since the process began: Scheduler
// only if at least minLatencies waits were counted, GCPause and GCCPU as 0 without a
// collection, and Procs as it is now. It records nothing if this version of Go lacks one of
// the metrics. The caller must call open before.
func (g *goRuntime) read(record func(Metric, int64)) {
	metrics.Read(g.samples)
	for _, s := range g.samples {
		if s.Value.Kind() == metrics.KindBad {
			return // another version of Go
		}
	}
	if p99, n := g.latencies.since(g.samples[schedLatencies].Value.Float64Histogram(), 0.99); n >= minLatencies {
		record(Scheduler, int64(p99*1e9))
	}
	p99, _ := g.pauses.since(g.samples[gcPauses].Value.Float64Histogram(), 0.99)
	record(GCPause, int64(p99*1e9))
	// The runtime updates the CPU seconds at the end of each collection, all at once.
	gc := g.samples[gcTotal].Value.Float64() - g.samples[gcIdle].Value.Float64()
	total := g.samples[cpuTotal].Value.Float64()
	share := 0.0
	if total > g.total {
		share = min(1, max(0, (gc-g.gc)/(total-g.total)))
	}
	record(GCCPU, int64(math.Round(1000*share)))
	g.gc, g.total = gc, total
	record(Procs, int64(runtime.GOMAXPROCS(0)))
}

// Latency measures how long goroutines that could run waited for a thread. It must not be
// used by several goroutines at once.
type Latency struct {
	sample []metrics.Sample
	counts counts
}

// P99 returns the 99th percentile of the waits since the last call, or since the process
// began, and their number; zeros if this version of Go does not count them.
func (l *Latency) P99() (time.Duration, uint64) {
	if l.sample == nil {
		l.sample = []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	}
	metrics.Read(l.sample)
	if l.sample[0].Value.Kind() == metrics.KindBad {
		return 0, 0 // another version of Go
	}
	p99, n := l.counts.since(l.sample[0].Value.Float64Histogram(), 0.99)
	return time.Duration(p99 * 1e9), n
}

// counts are the counts of a histogram that only grows.
type counts []uint64

// since returns the q-quantile of what h counted since the last call, as the lower bound of
// its range, and the number of counts; 0 and 0 if it counted nothing. The first call covers
// all of h.
func (c *counts) since(h *metrics.Float64Histogram, q float64) (value float64, n uint64) {
	last := *c
	if len(last) != len(h.Counts) {
		last = make(counts, len(h.Counts))
	}
	for i := range h.Counts {
		n += h.Counts[i] - last[i]
	}
	rank := uint64(math.Ceil(q * float64(n)))
	var seen uint64
	for i := range h.Counts {
		if seen += h.Counts[i] - last[i]; n > 0 && seen >= rank {
			value = max(0, h.Buckets[i]) // the first begins at minus infinity
			break
		}
	}
	*c = append(slices.Grow(last[:0], len(h.Counts)), h.Counts...)
	return value, n
}
