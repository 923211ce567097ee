package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// ending is how a person ends a run: by a stop, which drains, or by a cancel.
type ending struct {
	cancel bool
	by     string // "Ctrl-C"; empty: nobody has
}

// end stops or cancels the run, for whom it says. A stop after a cancel is nothing.
func (l *localRun) end(cancel bool, by string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case cancel:
		l.asked = ending{true, by}
		l.log.Info("cancel", "asked_by", by)
		l.executor.Cancel()
		l.progress.say("cancelling")
	case l.asked.by == "":
		l.asked = ending{false, by}
		l.log.Info("stop", "asked_by", by)
		l.executor.Stop()
		l.progress.say("stopping: waiting for what is in flight; Ctrl-C again cancels")
	}
}

// ended is how a person has ended the run so far.
func (l *localRun) ended() ending {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked
}

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
			if l.ended().by == "" {
				l.end(false, "Ctrl-C")
			} else {
				l.end(true, "a second Ctrl-C")
			}
		}
	}()
	return func() {
		signal.Stop(ch)
		close(done)
	}
}
