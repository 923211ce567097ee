//go:build long && linux

package truth

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Processes that use all CPUs do not make the hiccup meter late. The machine's host may, so
// there are several tries.
func TestHiccupMeterOnBusyCPUs(t *testing.T) {
	meter := needHiccupMeter(t)
	if meter == nil {
		return
	}
	for tries := 1; ; tries++ {
		from, over := time.Now(), atomic.Bool{}
		var busy sync.WaitGroup
		for range 2 * runtime.NumCPU() {
			busy.Go(func() {
				for !over.Load() {
				}
			})
		}
		time.Sleep(500 * time.Millisecond)
		over.Store(true)
		busy.Wait()
		time.Sleep(10 * hiccupEvery) // for reports that are on their way
		seen := meter.longest(from)
		if seen < leastStall {
			return
		}
		if tries == 20 {
			t.Fatalf("it takes busy CPUs for a machine that pauses: %v", seen)
		}
	}
}
