//go:build unix

package cli

import (
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A signal that comes as the run has just ended, as a second Ctrl-C may, ends nothing: the report
// is still written.
func TestSignalAfterTheEnd(t *testing.T) {
	var calls atomic.Int32
	c := catch(func(os.Signal) { calls.Add(1) }, syscall.SIGUSR1)
	defer c.stop()
	send := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
	}
	send()
	for end := time.Now().Add(10 * time.Second); calls.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a signal during the run is not received")
		}
	}
	c.over()
	send() // else this process would end here
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if calls.Load() != 1 {
			t.Fatal("a signal after the end is one of the run")
		}
	}
}
