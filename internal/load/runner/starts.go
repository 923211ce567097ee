package runner

import (
	"math/rand/v2"
	"time"
)

// starts is the schedule on which the users of a class start: a Poisson process of rate starts
// per second, so that the gaps, also the first one, are exponential with mean 1/rate. It is a
// deterministic sequence: a late start does not delay the following ones. All executors of a
// run have the same schedule, that of the whole run.
type starts struct {
	rate  float64
	rand  *rand.Rand
	drawn int64   // number of gaps drawn
	at    float64 // sum of the gaps: seconds since the start
}

// newStarts returns the schedule of a class, from the run's seed.
func newStarts(rate float64, seed uint64, class int) *starts {
	s := source(seed, uint64(class), 0)
	return &starts{rate: rate, rand: rand.New(rand.NewPCG(s[0], s[1]))}
}

// nth returns the time of start n of the whole run, from 0, since the beginning; always 0 if
// rate is 0. n must not decrease from call to call.
func (s *starts) nth(n int64) time.Duration {
	if s.rate == 0 {
		return 0
	}
	for ; s.drawn <= n; s.drawn++ {
		s.at += s.rand.ExpFloat64() / s.rate
	}
	return time.Duration(s.at * float64(time.Second))
}

// source returns the state of an independent random source (a PCG's seed) for a recorded seed
// and numbers, such as those of class and user. Equal arguments result in the same state.
func source(seed uint64, numbers ...uint64) [2]uint64 {
	const golden = 0x9E3779B97F4A7C15
	a, b := mix(seed+golden), mix(seed^golden)
	for _, n := range numbers {
		a = mix(a ^ (n + golden))
		b = mix(b + a)
	}
	return [2]uint64{a, b}
}

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood 2014), a bijection that maps close
// numbers far apart.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xBF58476D1CE4E5B9
	x ^= x >> 27
	x *= 0x94D049BB133111EB
	return x ^ x>>31
}
