package cli

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// meant is how long after a run's end a signal is still taken as meant for the run: a second
// Ctrl-C that comes as the run has just ended must not cost its report.
const meant = time.Second

// caught are signals that this process receives instead of being ended by them.
type caught struct {
	signals, pipe chan os.Signal
	done, ended   chan struct{}
	once          sync.Once

	mu  sync.Mutex // held while do is called
	end time.Time  // of the run; zero before it; guarded by mu
}

// catch calls do with each of these signals, in one goroutine, until the run is over. The caller
// must call over when it is, and stop when it is reported. Until it is over a closed pipe does not
// end this process.
func catch(do func(os.Signal), signals ...os.Signal) *caught {
	c := &caught{signals: make(chan os.Signal, 4), pipe: make(chan os.Signal, 1), done: make(chan struct{}), ended: make(chan struct{})}
	signal.Notify(c.signals, signals...)
	signal.Notify(c.pipe, syscall.SIGPIPE) // a write then fails, without a signal
	go func() {
		defer close(c.ended)
		for {
			select {
			case s := <-c.signals:
				c.mu.Lock()
				switch {
				case c.end.IsZero():
					do(s)
				case time.Since(c.end) > meant:
					os.Exit(exitCancelled) // files that are not complete are not there
				}
				c.mu.Unlock()
			case <-c.done:
				return
			}
		}
	}()
	return c
}

// over waits for a call of do, and do is not called any more, since the run is over and what
// follows is its report: signals are ignored for meant, and then end this process; a closed pipe
// does at once. The first call counts.
func (c *caught) over() {
	c.mu.Lock()
	if c.end.IsZero() {
		c.end = time.Now()
	}
	c.mu.Unlock()
	signal.Stop(c.pipe)
}

// stop lets signals end this process again, and waits for a call of do; further calls do nothing.
func (c *caught) stop() {
	c.once.Do(func() {
		signal.Stop(c.signals)
		signal.Stop(c.pipe)
		close(c.done)
		<-c.ended
	})
}
