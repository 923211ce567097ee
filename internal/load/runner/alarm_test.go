package runner

import (
	"testing"
	"time"
)

// Waits last at least as long as requested; a sleeper's wait ends early when it is woken.
func TestAlarmIsNotEarly(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]alarm{"timerfd": newAlarm(), "runtime": plainAlarm{}} {
		for i := range 200 {
			d := time.Duration(i%20+1) * 50 * time.Microsecond
			began := time.Now()
			a.wait(d)
			if took := time.Since(began); took < d {
				t.Errorf("%s: a wait of %v took %v", name, d, took)
			}
		}
		a.close()
	}
	s := newSleeper(newAlarm())
	defer s.close()
	stop, changed := make(chan struct{}), make(chan struct{})
	for range 50 {
		at := clock() + 2*near
		if s.until(clock, at, stop, changed) != due || clock() < at {
			t.Error("a sleeper woke early")
		}
	}
	close(changed)
	if why := s.until(clock, clock()+time.Hour, stop, changed); why != woken {
		t.Errorf("a changed plan: %v", why)
	}
	close(stop)
	if why := s.until(clock, clock()+time.Hour, stop, nil); why != stopped {
		t.Errorf("a stop: %v", why)
	}
}

// BenchmarkAlarm measures by how much a wait of 500 µs is too long.
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
