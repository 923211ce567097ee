package servers

import (
	"os"
	"runtime"
	"testing"
	"time"
)

// NoLeaks makes the test fail if it leaves goroutines or file descriptors behind, 10 s
// after its end. Call it first, so that its check is the last cleanup; the test must not be
// parallel.
func NoLeaks(t testing.TB) {
	t.Helper()
	goroutines, files := runtime.NumGoroutine(), openFiles()
	t.Cleanup(func() {
		// What was asked to end may need a moment.
		deadline := time.Now().Add(10 * time.Second)
		for runtime.NumGoroutine() > goroutines || openFiles() > files {
			if time.Now().After(deadline) {
				stacks := make([]byte, 1<<20)
				t.Errorf("left behind: %d goroutines, %d file descriptors\n%s",
					runtime.NumGoroutine()-goroutines, openFiles()-files, stacks[:runtime.Stack(stacks, true)])
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// openFiles returns the number of this process's open file descriptors; 0 if unknown.
func openFiles() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}
