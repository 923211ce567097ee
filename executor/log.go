package executor

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Limits of the log: the number of lines in a batch, and the interval between batches. Further
// lines are only counted.
const (
	logQueue = 256
	logBurst = 20
	logPause = 100 * time.Millisecond
	logTime  = "15:04:05.000 "
)

// logger sends lines about what the executor does to the parent. It limits their number, so
// that many lines do not disturb the load. Its methods may be called by any number of
// goroutines at once, except run and pass, which belong to its own goroutine.
type logger struct {
	send func(lines string)
	stop chan struct{} // closed by close
	done chan struct{}

	mu      sync.Mutex
	lines   []string // yet to be sent, guarded by mu
	dropped int      // since the last report of dropped lines, guarded by mu
	closed  bool     // guarded by mu
}

// newLogger returns a logger that calls send from its own goroutine, every 100 ms while there
// are lines, with up to 20 of them, or at close with all, separated by line ends, and a
// further line with the number of dropped ones, if any. The caller must close it.
func newLogger(send func(lines string)) *logger {
	l := &logger{send: send, stop: make(chan struct{}), done: make(chan struct{})}
	go l.run()
	return l
}

// add queues a line, with the time of day before it. If 256 lines are queued or the logger is
// closed, it drops the line and only counts it. It does not wait for send.
func (l *logger) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.lines) == logQueue {
		l.dropped++
		return
	}
	l.lines = append(l.lines, time.Now().Format(logTime)+line)
}

// run sends lines every 100 ms until stop is closed, then all that are queued, and closes
// done.
func (l *logger) run() {
	defer close(l.done)
	ticker := time.NewTicker(logPause)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			l.pass(logBurst)
		case <-l.stop:
			l.pass(logQueue)
			return
		}
	}
}

// pass sends at most most lines in one call of send. If the queue is then empty and lines were
// dropped, it adds a line with their number. Without lines it does not call send.
func (l *logger) pass(most int) {
	l.mu.Lock()
	n := min(most, len(l.lines))
	lines := l.lines[:n:n]
	l.lines = l.lines[n:]
	if len(l.lines) == 0 && l.dropped > 0 {
		lines = append(lines, time.Now().Format(logTime)+fmt.Sprintf("%d more lines left out: there were too many at once", l.dropped))
		l.dropped = 0
	}
	l.mu.Unlock()
	if len(lines) > 0 {
		l.send(strings.Join(lines, "\n"))
	}
}

// close sends the remaining lines and waits until they are sent. Lines added later are
// dropped. It may be called more than once; on a nil logger it does nothing.
func (l *logger) close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	first := !l.closed
	l.closed = true
	l.mu.Unlock()
	if first {
		close(l.stop)
	}
	<-l.done
}
