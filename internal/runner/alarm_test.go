package runner

import (
	"testing"
	"time"
)

// BenchmarkAlarm shows by how much a wait of 500 µs is too long.
func BenchmarkAlarm(b *testing.B) {
	for name, a := range map[string]alarm{"timerfd": newAlarm(), "runtime": plainAlarm{}} {
		b.Run(name, func(b *testing.B) {
			var late time.Duration
			for b.Loop() {
				began := time.Now()
				a.wait(500 * time.Microsecond)
				late += time.Since(began) - 500*time.Microsecond
			}
			b.ReportMetric(float64(late.Microseconds())/float64(b.N), "us-late")
		})
		a.close()
	}
}
