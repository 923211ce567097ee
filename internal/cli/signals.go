package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// What a person asked for while a run goes on.
const (
	stopped   = "Ctrl-C"
	cancelled = "a second Ctrl-C"
)

// signals lets a first Ctrl-C (or SIGTERM) stop the run, which then drains, and a
// second cancel it. Call the function it returns when the run is over.
func (l *localRun) signals() func() {
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-ch:
			case <-done:
				return
			}
			l.mu.Lock()
			if l.asked == "" {
				l.asked = stopped
				l.executor.Stop()
				l.progress.say("stopping: waiting for what is in flight; Ctrl-C again cancels")
			} else {
				l.asked = cancelled
				l.executor.Cancel()
				l.progress.say("cancelling")
			}
			l.mu.Unlock()
		}
	}()
	return func() {
		signal.Stop(ch)
		close(done)
	}
}
