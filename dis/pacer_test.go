package dis

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

func TestEvenSchedule(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rps  float64
		n    int64 // index of the start to check
		want time.Duration
	}{
		{10, 0, 0},
		{10, 1, 100 * time.Millisecond},
		{3, 3_000_000, 1_000_000 * time.Second}, // no drift, though 1/3 s is not a whole number of ns
		{1e9, 5, 5},
		{2e9, 5, 3}, // two starts in each nanosecond, rounded
		{1e-300, 1, math.MaxInt64},
		{math.Inf(1), 1000, 0},
		{0, 0, math.MaxInt64},
		{-1, 0, math.MaxInt64},
		{math.NaN(), 0, math.MaxInt64},
	} {
		p := NewPacer(tt.rps, false)
		p.count = tt.n
		if got := p.next(nil); got != tt.want {
			t.Errorf("start %d of %v/s at %v, want %v", tt.n, tt.rps, got, tt.want)
		}
	}
}

func TestPoissonSchedule(t *testing.T) {
	t.Parallel()
	p := NewPacer(10, true)
	for i, tt := range []struct {
		exp  float64
		want time.Duration
	}{
		{0.5, 50 * time.Millisecond},
		{0, 50 * time.Millisecond},
		{2, 250 * time.Millisecond},
	} {
		if got := p.next(func() float64 { return tt.exp }); got != tt.want {
			t.Errorf("start %d at %v, want %v", i, got, tt.want)
		}
	}

	// A long run keeps its rate: 1,000,000 starts at 1000/s take 1000 s, within five standard
	// deviations of 1 s.
	p, exp := NewPacer(1000, true), rand.New(rand.NewPCG(1, 2)).ExpFloat64
	var last time.Duration
	for range 1_000_000 {
		due := p.next(exp)
		if due < last {
			t.Fatalf("start at %v after one at %v", due, last)
		}
		last = due
	}
	if d := last - 1000*time.Second; d.Abs() > 5*time.Second {
		t.Errorf("1,000,000 starts at 1000/s end at %v", last)
	}
}

// TestOvershoot: a loop that is late every time, and once by a whole second, still makes as
// many starts as the rate requires.
func TestOvershoot(t *testing.T) {
	t.Parallel()
	for _, poisson := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
			defer cancel()
			p, n := NewPacer(100, poisson), 0
			for p.Wait(ctx) == nil {
				n++
				time.Sleep(9 * time.Millisecond)
				if n == 1000 {
					time.Sleep(time.Second)
				}
				if late := time.Since(p.Planned()); late < 0 {
					t.Fatalf("start %d came %v early", n, -late)
				}
			}
			// The Poisson draw has a standard deviation of 100 starts, five are allowed; the
			// even schedule may lack the starts of its last turns.
			if d := math.Abs(float64(n - 10_000)); d > 500 || !poisson && d > 1 {
				t.Errorf("poisson %v: %d starts in 100 s at 100/s", poisson, n)
			}
		})
	}
}

func TestWaitObeysContext(t *testing.T) {
	t.Parallel()
	errEnd := errors.New("end of the run")
	for _, tt := range []struct {
		name string
		p    *Pacer
	}{
		{"slow", NewPacer(0.001, true)},
		{"without a rate", NewPacer(0, false)},
		{"not a number", NewPacer(math.NaN(), true)},
		{"zero value", &Pacer{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errEnd)
				defer cancel()
				start := time.Now()
				tt.p.next(func() float64 { return 1 }) // the first even start is due at once
				if err := tt.p.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Wait = %v, want the context's error", err)
				}
				if took := time.Since(start); took != time.Second {
					t.Errorf("Wait took %v, want 1s", took)
				}
			})
		})
	}

	t.Run("overdue", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := NewPacer(math.Inf(1), false)
		if err := p.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := p.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Wait = %v, want the context's error", err)
		}
	})
}

func TestPlannedBeforeWait(t *testing.T) {
	t.Parallel()
	if got := NewPacer(1, true).Planned(); !got.IsZero() {
		t.Errorf("Planned before Wait = %v, want the zero time", got)
	}
}

func BenchmarkWaitOverdue(b *testing.B) {
	p, ctx := NewPacer(math.Inf(1), true), b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if err := p.Wait(ctx); err != nil {
			b.Fatal(err)
		}
	}
}
