package runner

import (
	"testing"
	"time"
)

// A light load keeps one processor. A heavy one, or one whose goroutines wait, gets more at
// once, and loses them after it has been light for long.
func TestFitProcs(t *testing.T) {
	f := fit{most: 8, procs: 1, calm: firstCalm}
	run := func(what string, use float64, wait, long time.Duration, want int) {
		t.Helper()
		for range long / fitEvery {
			f.procs = f.next(fitEvery, min(use, float64(f.procs)), wait)
		}
		if f.procs != want {
			t.Errorf("%s: %d processors, want %d", what, f.procs, want)
		}
	}
	run("light", 0.2, 0, 10*time.Second, 1)
	run("below full", 0.94, 900*time.Microsecond, 10*time.Second, 1)
	run("full", 1, 0, 400*time.Millisecond, 2)
	run("three in use", 3, 0, time.Second, 4)
	run("enough", 3, 0, 10*time.Second, 4)
	run("light for a moment", 0.5, 0, time.Second, 4)
	run("in use again", 3, 0, time.Second, 4)
	run("light for long", 0.5, 0, 3*time.Second, 2)
	run("light for longer", 0.5, 0, 5*time.Second, 1)
	run("waiting", 0.1, 2*time.Millisecond, 3*time.Second, 8)
	run("not waiting", 0.1, 0, 7*time.Second, 8)
	run("not waiting for longer than before", 0.1, 0, 2*time.Minute, 1)
}

// If the load alternates between light and heavy, the number of processors does not follow each
// change.
func TestFitProcsDoesNotSwing(t *testing.T) {
	f := fit{most: 2, procs: 1, calm: firstCalm}
	changes := 0
	for i := range 20 * 60 * 5 { // five minutes
		use := 0.1
		if i/100%2 == 0 { // 5 s each
			use = 2
		}
		if n := f.next(fitEvery, min(use, float64(f.procs)), 0); n != f.procs {
			f.procs = n
			changes++
		}
	}
	if changes > 8 {
		t.Errorf("%d changes in five minutes", changes)
	}
}
