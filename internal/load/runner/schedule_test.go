package runner

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/run/segment"
)

// all returns every start of a schedule.
func all(a scenario.Arrival, scale float64, seed uint64) (starts []time.Duration) {
	s := newArrivals(a, scale, seed, 0, segment.Segment{}.Round(1))
	for {
		at, ok := s.next()
		if !ok {
			return starts
		}
		starts = append(starts, at)
	}
}

func TestEvenArrivals(t *testing.T) {
	second := time.Second
	for _, tt := range []struct {
		name   string
		stages []scenario.Rate
		n      int // the integral of the rate, rounded up
	}{
		{"constant", []scenario.Rate{{To: 2000, Over: 10 * second}}, 20_000},
		{"slow", []scenario.Rate{{To: 0.5, Over: 10 * second}}, 5},
		{"fast", []scenario.Rate{{To: 20_000, Over: 10 * second}}, 200_000},
		{"no whole number", []scenario.Rate{{To: 33.3, Over: 7 * second}}, 234},
		{"up", []scenario.Rate{{To: 0, Over: second}, {To: 1000, Over: 10 * second}}, 5000},
		{"up, level, down to nothing", []scenario.Rate{{To: 100, Over: second}, {To: 500, Over: 10 * second}, {To: 500, Over: 20 * second}, {To: 0, Over: 10 * second}}, 100 + 3000 + 10_000 + 2500},
		{"steps", []scenario.Rate{{To: 100, Over: second}, {To: 300}, {To: 300, Over: second}}, 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			starts := all(scenario.Arrival{Stages: tt.stages}, 1, 1)
			if len(starts) != tt.n {
				t.Errorf("%d starts, want %d", len(starts), tt.n)
			}
			if starts[0] < 0 || !slices.IsSorted(starts) {
				t.Error("the starts are not in order")
			}
			// Start n is when the integral of the rate is n.
			lines := rateLines(tt.stages)
			for n, at := range starts {
				integral, seconds := 0.0, at.Seconds()
				for _, l := range lines {
					integral += l.area(min(seconds, l.seconds))
					if seconds -= l.seconds; seconds <= 0 {
						break
					}
				}
				if math.Abs(integral-float64(n)) > 1e-3 {
					t.Fatalf("start %d at %v, where the integral is %v", n, at, integral)
				}
			}
		})
	}
	if starts := all(scenario.Arrival{Stages: []scenario.Rate{{To: 100, Over: second}}}, 0.25, 1); len(starts) != 25 || starts[1] != 40*time.Millisecond {
		t.Errorf("a quarter of 100/s: %d starts, the second at %v", len(starts), starts[1])
	}
}

// Poisson gaps pass a Kolmogorov-Smirnov test: at a constant rate they are
// exponential, and under any rate their rescaled times are.
func TestPoissonArrivals(t *testing.T) {
	for name, stages := range map[string][]scenario.Rate{
		"constant": {{To: 1000, Over: 10 * time.Second}},
		"up":       {{To: 0, Over: time.Second}, {To: 2000, Over: 10 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			starts := all(scenario.Arrival{Stages: stages, Poisson: true}, 1, 7)
			if n := float64(len(starts)); math.Abs(n-10_000) > 4*100 {
				t.Errorf("%v starts, want 10,000 and at most 4 deviations more or less", n)
			}
			lines, last := rateLines(stages), 0.0
			var gaps []float64
			for _, at := range starts {
				integral, seconds := 0.0, at.Seconds()
				for _, l := range lines {
					integral += l.area(min(max(seconds, 0), l.seconds))
					seconds -= l.seconds
				}
				gaps = append(gaps, integral-last)
				last = integral
			}
			slices.Sort(gaps)
			n, distance := float64(len(gaps)), 0.0
			for i, x := range gaps {
				f := 1 - math.Exp(-x)
				distance = max(distance, math.Abs(f-float64(i)/n), math.Abs(f-float64(i+1)/n))
			}
			if distance > 1.95/math.Sqrt(n) { // p = 0.001
				t.Errorf("the gaps are not exponential: distance %.4f of %.0f", distance, n)
			}
		})
	}
	a := scenario.Arrival{Stages: []scenario.Rate{{To: 100, Over: time.Second}}, Poisson: true}
	if !slices.Equal(all(a, 1, 7), all(a, 1, 7)) || slices.Equal(all(a, 1, 7), all(a, 1, 8)) {
		t.Error("a seed does not make a schedule")
	}
}

func TestRamp(t *testing.T) {
	second := time.Second
	r := newRamp(scenario.Ramp{{To: 10, Over: 10 * second}, {To: 10, Over: 5 * second}, {To: 2, Over: 4 * second}, {To: 4, Over: 2 * second}})
	for _, tt := range []struct {
		at    time.Duration
		users int64
	}{{0, 0}, {second / 2, 0}, {second/2 + 1, 1}, {1600 * time.Millisecond, 2}, {9999 * time.Millisecond, 10}, {12 * second, 10}, {17 * second, 6}, {19 * second, 2}, {20600 * time.Millisecond, 4}, {21 * second, 0}} {
		var n int64
		for user := range int64(12) {
			if active, _ := r.active(user, tt.at); active {
				n++
			}
		}
		if n != tt.users {
			t.Errorf("%d users active at %v, want %d", n, tt.at, tt.users)
		}
	}
	for _, tt := range []struct {
		user     int64
		at, next time.Duration
	}{{5, 0, 5500*time.Millisecond + 1}, {5, 18 * second, forever}, {3, 19 * second, 20500*time.Millisecond + 1}, {11, 0, forever}} {
		active, next := r.active(tt.user, tt.at)
		if active || next != tt.next {
			t.Errorf("user %d at %v: active %v, next %v; want %v", tt.user, tt.at, active, next, tt.next)
		}
		if next != forever {
			if active, _ := r.active(tt.user, next); !active {
				t.Errorf("user %d is not active at %v, as was said", tt.user, next)
			}
		}
	}
	if r.length() != 21*second {
		t.Errorf("length %v", r.length())
	}
	if active, _ := newRamp(scenario.Ramp{{To: 3}, {To: 3, Over: second}}).active(2, 0); !active {
		t.Error("a first stage of no time does not jump")
	}
}

func TestWarmups(t *testing.T) {
	second := time.Second
	ws := windows(warmups(scenario.Arrival{Stages: []scenario.Rate{{To: 1, Over: second, Warmup: true}, {To: 2, Over: second, Warmup: true}, {To: 2, Over: 5 * second}, {To: 3, Over: second, Warmup: true}}}))
	if !slices.Equal(ws, windows{{0, 2 * second}, {7 * second, 8 * second}}) {
		t.Errorf("windows %v", ws)
	}
	for at, want := range map[time.Duration]window{0: {1, 2 * second}, second: {1, 2 * second}, 2 * second: {0, 7 * second}, 7 * second: {1, 8 * second}, 8 * second: {0, forever}} {
		inside, border := ws.at(at)
		if inside != (want.from == 1) || border != want.to {
			t.Errorf("at %v: %v until %v", at, inside, border)
		}
	}
}
