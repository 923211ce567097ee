package delay

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gobench-io/gobench/internal/measure/hdr"
)

const ms = time.Millisecond

// model is a simulated run: a load, a target, and what disturbs gobench.
type model struct {
	rate   float64 // starts a second; 0: closed
	users  int     // of a closed load
	length time.Duration
	seed   uint64

	service func(*rand.Rand) time.Duration // of the target
	servers int                            // of the target, in order of arrival; 0: as many as needed
	stalls  []stop                         // of the target: nothing ends in them

	stops []stop                         // of gobench
	wake  func(*rand.Rand) time.Duration // how late gobench wakes up; nil: never
	costs time.Duration                  // of gobench's one CPU, for each start and for each answer
}

// stop is a time in which something is stopped.
type stop struct{ at, length time.Duration }

// after returns t, or the end of the stop that it is in.
func after(t time.Duration, stops []stop) time.Duration {
	i, _ := slices.BinarySearchFunc(stops, t, func(s stop, t time.Duration) int { return int(s.at + s.length - t) })
	if i < len(stops) && t >= stops[i].at && t < stops[i].at+stops[i].length {
		return stops[i].at + stops[i].length
	}
	return t
}

// every returns stops of a length, one in each period.
func every(period, length, until time.Duration) (all []stop) {
	for at := period / 2; at < until; at += period {
		all = append(all, stop{at, length})
	}
	return all
}

// times is a min-heap.
type times []time.Duration

func (t times) Len() int           { return len(t) }
func (t times) Less(i, j int) bool { return t[i] < t[j] }
func (t times) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *times) Push(x any)        { *t = append(*t, x.(time.Duration)) }
func (t *times) Pop() any {
	x := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return x
}

// target returns when each of arrivals, ascending, departs.
type target struct {
	free   times // of servers
	few    bool
	stalls []stop
}

func newTarget(m model) *target {
	t := &target{few: m.servers > 0, stalls: m.stalls, free: make(times, m.servers)}
	heap.Init(&t.free)
	return t
}

func (t *target) serve(arrival, service time.Duration) time.Duration {
	begin := after(arrival, t.stalls)
	if !t.few {
		return after(begin+service, t.stalls)
	}
	begin = after(max(begin, heap.Pop(&t.free).(time.Duration)), t.stalls)
	end := after(begin+service, t.stalls)
	heap.Push(&t.free, end)
	return end
}

// simulated is what a run recorded, and what is true.
type simulated struct {
	Times
	truth *hdr.Histogram
}

func newSimulated() *simulated {
	s := &simulated{truth: new(hdr.Histogram)}
	s.All, s.Disturbed, s.Corrected = new(hdr.Histogram), new(hdr.Histogram), new(hdr.Histogram)
	return s
}

func (s *simulated) record(took, truth time.Duration, own Own, typical time.Duration) {
	s.All.Record(int64(took))
	s.truth.Record(int64(truth))
	if least, ok := own.Least(took, typical); ok {
		s.Disturbed.Record(int64(took))
		s.Corrected.Record(int64(least))
	}
}

func (m model) run() *simulated {
	if m.rate == 0 {
		return m.closed()
	}
	r := rand.New(rand.NewPCG(m.seed, 1))
	late := func() time.Duration {
		if m.wake == nil {
			return 0
		}
		return m.wake(r)
	}
	s, burst, real, planned := newSimulated(), Burst{}, newTarget(m), newTarget(m)
	n := int(m.rate * m.length.Seconds())
	var cpu, next, typical time.Duration // cpu: when gobench's CPU is free
	var ends times
	type op struct {
		took, truth time.Duration
		own         Own
	}
	var inFlight []struct {
		end time.Duration
		op
	}
	flush := func(now time.Duration) { // what has ended is recorded
		rest := inFlight[:0]
		for _, o := range inFlight {
			if o.end <= now {
				s.record(o.took, o.truth, o.own, typical)
			} else {
				rest = append(rest, o)
			}
		}
		inFlight = rest
	}
	last := time.Duration(0)
	for i := range n {
		plan := time.Duration(float64(i) / m.rate * 1e9)
		start := max(last, after(plan+late(), m.stops), cpu)
		if m.costs > 0 {
			start += m.costs
			cpu = start
		}
		last = start
		for len(ends) > 0 && ends[0] <= start {
			heap.Pop(&ends)
		}
		if start >= next {
			flush(start)
			typical = 0
			if next > 0 {
				typical = Typical(s.All, s.Disturbed)
			}
			next = start + time.Second
		}
		service := m.service(r)
		lag := start - plan
		own := Own{Delay: lag, Burst: burst.Start(start, lag, int64(len(ends)))}
		depart := real.serve(start, service)
		end := after(depart+late(), m.stops)
		own.Delay += end - depart
		truth := planned.serve(plan, service) - plan
		heap.Push(&ends, end)
		inFlight = append(inFlight, struct {
			end time.Duration
			op
		}{end, op{end - plan, truth, own}})
	}
	flush(math.MaxInt64)
	return s
}

// closed simulates users that ask again after each answer. The truth of an operation is the
// target's part of it.
func (m model) closed() *simulated {
	r := rand.New(rand.NewPCG(m.seed, 1))
	s, real := newSimulated(), newTarget(m)
	begins := make(times, m.users)
	heap.Init(&begins)
	var cpu time.Duration
	for {
		begin := heap.Pop(&begins).(time.Duration)
		if begin > m.length {
			return s
		}
		sent := after(max(begin, cpu), m.stops)
		depart := real.serve(sent, m.service(r))
		end := after(depart, m.stops)
		if m.wake != nil {
			end += m.wake(r)
		}
		if m.costs > 0 { // one CPU takes the answers in turn
			cpu = max(cpu, end) + m.costs
			end = cpu
		}
		s.record(end-begin, depart-sent, Own{Delay: (sent - begin) + (end - depart)}, 0)
		heap.Push(&begins, end)
	}
}

// constant and others are service times and latenesses.
func constant(d time.Duration) func(*rand.Rand) time.Duration {
	return func(*rand.Rand) time.Duration { return d }
}

func exponential(mean time.Duration) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration { return time.Duration(r.ExpFloat64() * float64(mean)) }
}

// about is a lognormal time with a median and a standard deviation of its logarithm.
func about(median time.Duration, sigma float64) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration {
		return time.Duration(float64(median) * math.Exp(sigma*r.NormFloat64()))
	}
}

func sometimes(share float64, d time.Duration) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration {
		if r.Float64() < share {
			return d
		}
		return 0
	}
}
