package health

import (
	"runtime/metrics"
	"slices"
	"testing"
	"time"
)

func TestAClockStepIsSeen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ wall, monotonic, want time.Duration }{
		{time.Second, time.Second, 0},
		{11 * time.Second, time.Second, 10 * time.Second},
		{-9 * time.Second, time.Second, 10 * time.Second},
		{0, time.Second, time.Second},
	} {
		if got := stepOf(tt.wall, tt.monotonic); got != tt.want {
			t.Errorf("wall %v, monotonic %v: %v, want %v", tt.wall, tt.monotonic, got, tt.want)
		}
	}
	var c stepClock
	now := time.Now()
	if d := c.step(now); d != 0 {
		t.Errorf("the first step is %v", d)
	}
	if d := c.step(now.Add(time.Hour)); d != 0 { // both clocks advance
		t.Errorf("an hour is a step of %v", d)
	}
}

func TestClockStep(t *testing.T) {
	t.Parallel()
	step := stepOf(-2*time.Second, time.Second)
	v := judged(windows(100, 1, is(ClockStep, float64(step))))
	if len(v) != 1 || v[0].Signal != "clock_step" || v[0].Text != "the wall clock jumped by 3.00 s" {
		t.Errorf("%+v", v)
	}
}

// missing are the figures that a Linux machine may not have, and why.
var missing = map[Metric]string{
	QuotaCPU: "no quota", Throttled: "no quota", MemoryLimit: "no limit", Pressure: "a kernel without PSI", OpenFiles: "a kernel before 6.2",
	Scheduler: "no goroutine has waited", Link: "no card whose speed is known",
}

// Each figure is measured, unless the machine has none.
func TestSampleHasAllFigures(t *testing.T) {
	began := time.Now()
	s := NewSampler(func() int64 { return 0 })
	defer s.Close()
	early := 0
	s.Sample(func(Metric, int64) { early++ })
	if early > 0 && time.Since(began) < shortest {
		t.Errorf("%d figures at once", early)
	}
	time.Sleep(shortest + 50*time.Millisecond)
	got := map[Metric]int64{}
	s.Sample(func(m Metric, v int64) {
		if _, twice := got[m]; twice || v < 0 {
			t.Errorf("%s = %d", Metrics[m].Name, v)
		}
		got[m] = v
	})
	for m := range metricCount {
		if _, ok := got[m]; !ok && missing[m] == "" {
			t.Errorf("no %s: nothing reads it", Metrics[m].Name)
		}
	}
	if got[Memory] == 0 || got[Memory] > 1000 || got[CPU] > 1000 {
		t.Errorf("figures %v", got)
	}
}

func TestPercentile99(t *testing.T) {
	t.Parallel()
	if _, ok := percentile99(nil); ok {
		t.Error("nothing has a percentile")
	}
	var values []time.Duration
	for i := range 100 {
		values = append(values, time.Duration(100-i))
		got, ok := percentile99(slices.Clone(values))
		want := time.Duration(100) // the longest of fewer than 100
		if i == 99 {
			want = 99
		}
		if got != want || !ok {
			t.Errorf("of %d values it is %v, want %v", i+1, got, want)
		}
	}
}

func TestHistogramsOfTheRuntimeGrow(t *testing.T) {
	t.Parallel()
	h := &metrics.Float64Histogram{Counts: []uint64{0, 990, 10}, Buckets: []float64{-1, 1, 2, 3}}
	var c counts
	if v, n := c.since(h, 0.99); v != 1 || n != 1000 {
		t.Errorf("p99 %v of %d", v, n)
	}
	h.Counts = []uint64{0, 990, 110}
	if v, n := c.since(h, 0.99); v != 2 || n != 100 {
		t.Errorf("p99 %v of %d", v, n)
	}
	if v, n := c.since(h, 0.99); v != 0 || n != 0 {
		t.Errorf("p99 %v of %d", v, n)
	}
}

// BenchmarkSample measures the cost of a sample; there is one a second, so 10 ms would be 1
// % of a core. The canary also wakes up 100 times a second.
func BenchmarkSample(b *testing.B) {
	s := NewSampler(func() int64 { return 0 })
	defer s.Close()
	b.ReportAllocs()
	for b.Loop() {
		s.last = s.last.Add(-time.Second)
		s.Sample(func(Metric, int64) {})
	}
}
