package dis

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestPause(t *testing.T) {
	t.Parallel()
	inf, nan := math.Inf(1), math.NaN()
	for _, tt := range []struct {
		name       string
		rps, share float64
		want       time.Duration
	}{
		{"ten a second", 10, 1, 100 * time.Millisecond},
		{"a share of the mean", 10, 0.5, 50 * time.Millisecond},
		{"rounds to a nanosecond", 3, 1, 333_333_333},
		{"faster than the clock", 1e12, 1, 0},
		{"slower than time.Duration", 1e-300, 1, math.MaxInt64},
		{"zero", 0, 1, time.Second},
		{"below zero", -1, 1, time.Second},
		{"below all", -inf, 1, time.Second},
		{"not a number", nan, 1, time.Second},
		{"endless", inf, 1, 0},
	} {
		if got := pause(tt.rps, tt.share); got != tt.want {
			t.Errorf("%s: pause(%v, %v) = %v, want %v", tt.name, tt.rps, tt.share, got, tt.want)
		}
	}
}

// TestSleepRate uses synctest's clock, where a sleep is exact and takes no time.
func TestSleepRate(t *testing.T) {
	for _, tt := range []struct {
		name  string
		sleep func(float64) int64
		rps   float64
		lo    float64 // mean us, and a standard error of 1 % allowed five times
		hi    float64
	}{
		{"linear", SleepRateLinear, 10, 1e5, 1e5},
		{"linear without a rate", SleepRateLinear, 0, 1e6, 1e6},
		{"poisson", SleepRatePoisson, 10, 0.95e5, 1.05e5},
		{"poisson without a rate", SleepRatePoisson, math.NaN(), 1e6, 1e6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				debt.Store(0)
				const n = 10_000
				start, sum := time.Now(), int64(0)
				for range n {
					sum += tt.sleep(tt.rps)
				}
				if mean := float64(sum) / n; mean < tt.lo || mean > tt.hi {
					t.Errorf("mean = %v us, want %v to %v", mean, tt.lo, tt.hi)
				}
				took := time.Since(start).Microseconds()
				if d := took - sum; d < 0 || d > n { // each return value is truncated to a whole us
					t.Errorf("said %d us, slept %d us", sum, took)
				}
			})
		})
	}
}

// TestPoissonGaps is a Kolmogorov-Smirnov test: the gaps that the schedule plans come from the
// exponential distribution of mean 1/rps. With the fixed seeds the outcome never changes; at
// 1.95 a true sample fails once in 1000.
func TestPoissonGaps(t *testing.T) {
	t.Parallel()
	const n = 20_000
	for seed := range uint64(5) {
		for _, rps := range []float64{0.1, 10, 1e5} {
			p := NewPacer(rps, true)
			exp := rand.New(rand.NewPCG(seed, 1)).ExpFloat64
			gaps, last := make([]float64, n), time.Duration(0)
			for i := range gaps {
				due := p.next(exp)
				gaps[i] = (due - last).Seconds() * rps
				last = due
			}
			if d := ksExponential(gaps) * math.Sqrt(n); d > 1.95 {
				t.Errorf("seed %d, %v/s: Kolmogorov-Smirnov distance %.2f", seed, rps, d)
			}
		}
	}
}

// ksExponential returns the largest distance between the sample's distribution and the
// exponential one of mean 1. It sorts the sample.
func ksExponential(x []float64) (d float64) {
	slices.Sort(x)
	n := float64(len(x))
	for i, v := range x {
		f := 1 - math.Exp(-v)
		d = max(d, f-float64(i)/n, float64(i+1)/n-f)
	}
	return d
}

// TestKSNotices checks that the test above would detect gaps that are not exponential.
func TestKSNotices(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	x := make([]float64, 20_000)
	for i := range x {
		x[i] = 2 * r.Float64() // the same mean, evenly spread
	}
	if d := ksExponential(x) * math.Sqrt(float64(len(x))); d < 1.95 {
		t.Errorf("distance of evenly spread gaps = %.2f, want far above 1.95", d)
	}
}

func TestRandomString(t *testing.T) {
	t.Parallel()
	for _, n := range []int{-1, 0, 1, 9, 10, 11, 1000} {
		s := RandomString(n)
		if len(s) != max(n, 0) {
			t.Errorf("RandomString(%d) has %d bytes", n, len(s))
		}
		if i := strings.IndexFunc(s, func(r rune) bool { return !strings.ContainsRune(alphabet, r) }); i >= 0 {
			t.Errorf("RandomString(%d) has %q", n, s[i])
		}
	}
	if a, b := RandomString(32), RandomString(32); a == b {
		t.Errorf("twice %q", a)
	}
}

// TestEvenlyDrawn: all letters and all bytes are equally frequent, within five standard
// deviations.
func TestEvenlyDrawn(t *testing.T) {
	t.Parallel()
	const each = 10_000
	check := func(name string, drawn []byte, kinds int) {
		var n [256]int
		for _, b := range drawn {
			n[b]++
		}
		seen := 0
		for b, c := range n {
			if c == 0 {
				continue
			}
			seen++
			if math.Abs(float64(c-each)) > 5*math.Sqrt(each) {
				t.Errorf("%s: %q came %d times, want about %d", name, byte(b), c, each)
			}
		}
		if seen != kinds {
			t.Errorf("%s: %d kinds, want %d", name, seen, kinds)
		}
	}
	check("RandomString", []byte(RandomString(each*len(alphabet))), len(alphabet))
	check("RandomByte", RandomByte(each*256), 256)
	var tails []byte // the bytes after the last whole word
	for len(tails) < each*256 {
		tails = append(tails, RandomByte(7)...)
	}
	check("RandomByte(7)", tails[:each*256], 256)
}

func TestRandomByteLength(t *testing.T) {
	t.Parallel()
	for _, n := range []int{-1, 0, 1, 7, 8, 9, 4096} {
		if got := len(RandomByte(n)); got != max(n, 0) {
			t.Errorf("RandomByte(%d) has %d bytes", n, got)
		}
	}
}

// TestTogether: goroutines that pause at once share one debt, of which each part is paid once,
// and no two of them draw the same text. It is also for -race. It is not parallel: no other
// test may change the debt.
func TestTogether(t *testing.T) {
	debt.Store(0)
	defer debt.Store(0)
	const goroutines, turns = 8, 1000
	var (
		wg      sync.WaitGroup
		paid    atomic.Int64
		tooMuch atomic.Bool // more was paid than was owed
		texts   [goroutines][turns]string
	)
	for g := range goroutines {
		wg.Go(func() {
			for i := range turns {
				owe(1000) // in total less than maxDebt
				paid.Add(int64(pay(1500)))
				if debt.Load() < 0 {
					tooMuch.Store(true)
				}
				texts[g][i] = RandomString(20) + string(RandomByte(20))
			}
		})
	}
	wg.Wait()
	if left := debt.Load(); tooMuch.Load() || paid.Load()+left != goroutines*turns*1000 {
		t.Errorf("of a debt of %d ns %d were paid and %d are left; more than was owed: %v", goroutines*turns*1000, paid.Load(), left, tooMuch.Load())
	}
	drawn := map[string]bool{}
	for g := range texts {
		for _, s := range texts[g] {
			drawn[s] = true
		}
	}
	if len(drawn) != goroutines*turns {
		t.Errorf("%d texts drawn, %d of them different", goroutines*turns, len(drawn))
	}
}

func BenchmarkRandomString(b *testing.B) {
	for b.Loop() {
		RandomString(100)
	}
}

func BenchmarkRandomByte(b *testing.B) {
	for b.Loop() {
		RandomByte(100)
	}
}
