package dis

import (
	"testing"
	"testing/synctest"
	"time"
)

// A sleep that was too long makes later ones of any goroutine shorter, so that their total is
// right.
func TestSleepsMakeUpForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		debt.Store(0)
		defer debt.Store(0)
		start := time.Now()
		owe(2500 * time.Microsecond) // as if earlier sleeps had been too long by this
		var slept []int64
		for range 4 {
			slept = append(slept, SleepRateLinear(1000))
		}
		if want := [4]int64{0, 0, 500, 1000}; [4]int64(slept) != want {
			t.Errorf("slept %v us, want %v", slept, want)
		}
		if took := time.Since(start); took != 1500*time.Microsecond {
			t.Errorf("four pauses of 1 ms took %v beside a debt of 2.5 ms", took)
		}
		owe(time.Hour)
		if took := SleepRateLinear(10); took != 90_000 {
			t.Errorf("after a long stall a pause of 100 ms took %d us, want %v less", took, maxDebt)
		}
	})
}

// BenchmarkSleepRate measures the real rate for a requested rate of a thousand a second.
func BenchmarkSleepRate(b *testing.B) {
	start := time.Now()
	for b.Loop() {
		SleepRateLinear(1000)
	}
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "turns/s")
}
