package servers

import (
	"os"
	"runtime"
	"testing"
	"time"
)

// NoLeaks makes the test fail if it leaves goroutines or file descriptors behind.
// Call it first, so that it looks last; the test must not be parallel.
func NoLeaks(t testing.TB) {
	t.Helper()
	goroutines, files := runtime.NumGoroutine(), openFiles()
	t.Cleanup(func() {
		// What was told to end may need a moment to have ended.
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

// openFiles counts this process's file descriptors; 0 where that can't be told.
func openFiles() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}
