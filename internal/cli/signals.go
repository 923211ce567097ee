package cli

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/gobench-io/gobench/internal/measure/event"
)

// ending is how a person ends a run: by a stop, which drains, or by a cancel.
type ending struct {
	cancel bool
	by     string // "Ctrl-C"; empty: nobody has
}

// end stops or cancels the run, for whom it says. A stop after another end is nothing.
// What has not begun is given up.
func (l *localRun) end(cancel bool, by string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.executor == nil {
		l.asked = ending{cancel, by}
		l.giveUp()
		return
	}
	switch {
	case cancel:
		l.asked = ending{true, by}
		l.log.Info("cancel", "asked_by", by)
		l.executor.Cancel()
		l.tell(event.Event{Kind: event.Ending, Cancel: true, By: by, Text: "cancelling"})
	case l.asked.by == "":
		l.asked = ending{false, by}
		l.log.Info("stop", "asked_by", by)
		l.executor.Stop()
		l.tell(event.Event{Kind: event.Ending, By: by, Text: "stopping: waiting for what is in flight; Ctrl-C again cancels"})
	}
}

// ended is how a person has ended the run so far.
func (l *localRun) ended() ending {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked
}

// signals lets a first Ctrl-C (or SIGTERM, or the end of the terminal) stop the run,
// which then drains, and a second cancel it. Call the function it returns when the run
// is over. Until then a reader of ours that is gone ends nothing.
func (l *localRun) signals() func() {
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(ch, syscall.SIGHUP)
	}
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE) // writes then fail, and no more
	done := make(chan struct{})
	go func() {
		for {
			var s os.Signal
			select {
			case s = <-ch:
			case <-done:
				return
			}
			switch by := l.ended().by; {
			case by == "" && s == syscall.SIGHUP:
				l.end(false, "the end of its terminal")
			case by == "":
				l.end(false, "Ctrl-C")
			case s != syscall.SIGHUP:
				l.end(true, "a second Ctrl-C")
			}
		}
	}()
	return func() {
		signal.Stop(ch)
		signal.Stop(gone)
		close(done)
	}
}
