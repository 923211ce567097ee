package executor

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Lines that the log passes on: so many at a time, and no more often than that. Those
// beyond are counted.
const (
	logQueue = 256
	logBurst = 20
	logPause = 100 * time.Millisecond
	logTime  = "15:04:05.000 "
)

// logger passes on lines about what the executor does, a few at a time, so that no flood
// of them gets in the way of the load.
type logger struct {
	send func(lines string)
	stop chan struct{} // closed by close
	done chan struct{}

	mu      sync.Mutex
	lines   []string // yet to be sent, guarded by mu
	dropped int      // since the last that was told, guarded by mu
	closed  bool     // guarded by mu
}

func newLogger(send func(lines string)) *logger {
	l := &logger{send: send, stop: make(chan struct{}), done: make(chan struct{})}
	go l.run()
	return l
}

// add takes a line, or counts it when there are too many. It never waits.
func (l *logger) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.lines) == logQueue {
		l.dropped++
		return
	}
	l.lines = append(l.lines, time.Now().Format(logTime)+line)
}

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

// pass sends up to so many lines, and tells how many there were too many.
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

// close sends what is left. A nil logger has nothing.
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
