package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// signals makes a first Ctrl-C (or SIGTERM, or the end of the terminal) stop the run,
// which then drains, and a second Ctrl-C or SIGTERM cancel it; under nohup the end of the
// terminal is ignored. The caller must call the returned function once, when the run is
// over; until then a closed pipe does not end this process.
func (l *localRun) signals() func() {
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(ch, syscall.SIGHUP)
	}
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE) // a write then fails, without a signal
	done := make(chan struct{})
	go func() {
		for {
			var s os.Signal
			select {
			case s = <-ch:
			case <-done:
				return
			}
			switch by, _ := l.controls.Ended(); {
			case by == "" && s == syscall.SIGHUP:
				l.controls.Stop("the end of its terminal")
			case by == "":
				l.controls.Stop("Ctrl-C")
			case s != syscall.SIGHUP:
				l.controls.Cancel("a second Ctrl-C")
			}
		}
	}()
	return func() {
		signal.Stop(ch)
		signal.Stop(gone)
		close(done)
	}
}
