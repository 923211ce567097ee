package delay

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/long"
)

func word(s *simulated) run.Verdict {
	switch all := Judge("x", s.Times); {
	case len(all) == 0:
		return run.Valid
	case all[0].Level == run.Red:
		return run.Invalid
	}
	return run.Suspect
}

// Runs whose verdict a reader can work out.
func TestCases(t *testing.T) {
	t.Parallel()
	const s = time.Second
	five := about(5*ms, 0.2)
	for _, tt := range []struct {
		name string
		m    model
		want run.Verdict
	}{
		{"one pause of 31 ms, 50/s, 10 s", model{rate: 50, length: 10 * s, service: five, stops: []stop{{4 * s, 31 * ms}}}, run.Valid},
		{"two of 21 ms, 50/s, 10 s", model{rate: 50, length: 10 * s, service: five, stops: []stop{{4 * s, 21 * ms}, {7 * s, 21 * ms}}}, run.Valid},
		{"one of 5.1 ms, 500/s", model{rate: 500, length: 10 * s, service: five, stops: []stop{{4 * s, 5100 * time.Microsecond}}}, run.Valid},
		{"900 ms in 22 s, 1,000/s", model{rate: 1000, length: 22 * s, service: five, stops: []stop{{10 * s, 900 * ms}}}, run.Suspect},
		{"2 x 950 ms in 60 s", model{rate: 1000, length: 60 * s, service: five, stops: []stop{{10 * s, 950 * ms}, {40 * s, 950 * ms}}}, run.Suspect},
		{"29 x 950 ms in 600 s", model{rate: 200, length: 600 * s, service: five, stops: every(600*s/29, 950*ms, 600*s)}, run.Suspect},
		{"one suspend of 3 s in 600 s, a queue", model{rate: 200, length: 600 * s, service: exponential(15 * ms), servers: 4, stops: []stop{{200 * s, 3 * s}}}, run.Suspect},
		{"closed, 50 users, 900 ms in 22 s", model{users: 50, length: 22 * s, service: five, stops: []stop{{10 * s, 900 * ms}}}, run.Valid},
		{"a neighbour: 10 % of wake-ups 3 ms late", model{rate: 500, length: 20 * s, service: five, wake: sometimes(0.1, 3*ms)}, run.Suspect},
		{"neighbours: all wake-ups 3 ms late", model{rate: 500, length: 20 * s, service: five, wake: constant(3 * ms)}, run.Invalid},
		{"a quota: 40 of each 100 ms", model{rate: 500, length: 20 * s, service: five, stops: every(100*ms, 60*ms, 20*s)}, run.Invalid},
		{"a quota touched: 5 x 20 ms in 10 s", model{rate: 50, length: 10 * s, service: five, stops: every(2*s, 20*ms, 10*s)}, run.Valid},
		{"20,000/s on too few CPUs", model{rate: 20_000, length: 5 * s, service: five, costs: 55 * time.Microsecond}, run.Invalid},
		{"garbage collection: 2 ms each 50 ms", model{rate: 500, length: 20 * s, service: about(ms, 0.2), stops: every(50*ms, 2*ms, 20*s)}, run.Suspect},
		{"closed, a saturated client", model{users: 30, length: 5 * s, service: constant(300 * time.Microsecond), costs: 200 * time.Microsecond}, run.Invalid},
		{"a target of 0.3 ms, wake-ups 0.1 ms late", model{rate: 1000, length: 20 * s, service: constant(300 * time.Microsecond), wake: exponential(100 * time.Microsecond)}, run.Suspect},
		{"the target stalls for 0.7 s", model{rate: 1000, length: 10 * s, service: five, stalls: []stop{{4 * s, 700 * ms}}}, run.Valid},
		{"the target stalls for 1 s", model{rate: 1000, length: 10 * s, service: five, stalls: []stop{{4 * s, s}}}, run.Valid},
		{"a queue at 80 %, one pause of 50 ms", model{rate: 1000, length: 10 * s, service: constant(800 * time.Microsecond), servers: 1, stops: []stop{{4 * s, 50 * ms}}}, run.Suspect},
		{"the target stalls for 0.7 s, with a pause of 50 ms in it", model{rate: 1000, length: 10 * s, service: five, stalls: []stop{{4 * s, 700 * ms}}, stops: []stop{{4300 * ms, 50 * ms}}}, run.Valid},
		{"quiet", model{rate: 1000, length: 10 * s, service: five}, run.Valid},
	} {
		for seed := range uint64(3) {
			m := tt.m
			m.seed = seed
			got := m.run()
			if w := word(got); w != tt.want {
				t.Errorf("%s, seed %d: %s, want %s: %+v", tt.name, seed, w, tt.want, Judge("x", got.Times))
			}
		}
	}
}

// random returns a model drawn by a seed: any load, target and disturbance.
func random(seed uint64) model {
	r := rand.New(rand.NewPCG(seed, 2))
	m := model{seed: seed, length: time.Duration(8+r.IntN(20)) * time.Second}
	m.rate = []float64{50, 200, 500, 1000, 2000}[r.IntN(5)]
	mean := 300 * time.Microsecond << r.IntN(7) // to 19.2 ms
	switch r.IntN(4) {
	case 0:
		m.service = constant(mean)
	case 1:
		m.service = about(mean, 0.2+r.Float64())
	default:
		m.service = exponential(mean)
	}
	switch r.IntN(5) {
	case 0:
		m.rate, m.users = 0, []int{1, 10, 50}[r.IntN(3)]
	case 1, 2: // a queue at 20 to 80 %
		m.servers = 1 + r.IntN(4)
		use := 0.2 + 0.6*r.Float64()
		m.service = exponential(time.Duration(use * float64(m.servers) / m.rate * 1e9))
	}
	switch r.IntN(6) {
	case 0: // quiet
	case 1, 2:
		for at := time.Duration(0); ; {
			at += time.Duration(r.ExpFloat64() * float64(m.length) / 3)
			length := 5*ms + time.Duration(r.ExpFloat64()*float64(100*ms))
			if at+length > m.length {
				break
			}
			m.stops = append(m.stops, stop{at, length})
			at += length
		}
	case 3:
		m.wake = sometimes(0.3*r.Float64(), time.Duration(r.ExpFloat64()*float64(4*ms)))
	case 4:
		m.wake = exponential(time.Duration(r.ExpFloat64() * float64(300*time.Microsecond)))
	case 5:
		period := time.Duration(20+r.IntN(300)) * ms
		m.stops = every(period, period/time.Duration(3+r.IntN(50)), m.length)
	}
	return m
}

// deserved is the verdict by what the figures are off by in truth.
func deserved(s *simulated) run.Verdict {
	t := s.Times
	t.Disturbed, t.Corrected = t.All, s.truth
	return word(&simulated{Times: t})
}

// What a stop added is not what another run would not repeat.
func TestNoiseIsNotGobenchsOwn(t *testing.T) {
	t.Parallel()
	record := func(n int, took time.Duration, h *hdr.Histogram) {
		for range n {
			h.Record(int64(took))
		}
	}
	var all, disturbed, corrected hdr.Histogram
	record(790, 100*ms, &all)
	record(10, 556*ms, &all)
	record(10, 556*ms, &disturbed)
	record(10, 105*ms, &corrected)
	if found := Judge("x", Times{All: &all, Disturbed: &disturbed, Corrected: &corrected}); len(found) != 1 || found[0].Name != "p99" {
		t.Errorf("one stop of ten users of a target that takes 100 ms: %+v, want p99", found)
	}
}

// Figures of random runs are within their bounds, and their verdicts as deserved.
func TestBoundsHold(t *testing.T) {
	t.Parallel()
	runs := 100
	if long.Run {
		runs = 300
	}
	figures, outside, milder, harsher := 0, 0, 0, 0
	for seed := range uint64(runs) {
		m := random(seed)
		s := m.run()
		if s.All.Count() == 0 {
			continue
		}
		b := Of(s.Times)
		check := func(name string, value, bound, truth float64) {
			figures++
			slack := max(0.01*value, 0.2e6)
			if truth < value-bound-slack || truth > value+slack {
				outside++
				t.Logf("seed %d: %s is %.3f ms, up to %.3f of it gobench's; in truth %.3f (%+v)", seed, name, value/1e6, bound/1e6, truth/1e6, m)
			}
		}
		for i, x := range run.QuantileNames {
			if run.Enough(x.Q, int64(s.All.Count())) {
				check(x.Name, float64(s.All.Quantile(x.Q)), float64(b.Quantiles[i]), float64(s.truth.Quantile(x.Q)))
			}
		}
		check("avg", s.All.Mean(), b.Avg, s.truth.Mean())
		check("max", float64(s.All.Max()), float64(b.Max), float64(s.truth.Max()))
		got, want := word(s), deserved(s)
		if want.Worse(got) {
			milder++
			t.Logf("seed %d: %s, deserved %s (%+v)", seed, got, want, m)
			if want == run.Invalid {
				t.Errorf("seed %d: %s, deserved %s", seed, got, want)
			}
		} else if got.Worse(want) {
			harsher++
		}
	}
	t.Logf("%d of %d figures outside; of %d verdicts %d milder, %d harsher than deserved", outside, figures, runs, milder, harsher)
	if outside*100 > figures || milder*200 > runs || harsher*10 > runs {
		t.Error("more than 1 % of the figures are outside, or 0.5 % of the verdicts milder, or 10 % harsher")
	}
}
