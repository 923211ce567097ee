package lines

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/gobench-io/gobench/internal/run/units"
)

// queue writes to w in a goroutine of its own. A slow reader never delays the run: what it
// does not read in time is dropped and counted. Errors of w are ignored.
type queue struct {
	w     io.Writer
	lines chan []byte // closed by close
	done  chan struct{}

	mu      sync.Mutex
	dropped int  // bytes not shown, guarded by mu
	closed  bool // guarded by mu
}

// newQueue returns a queue with room for 256 writes. The caller must close it, which ends
// its goroutine.
func newQueue(w io.Writer) *queue {
	q := &queue{w: w, lines: make(chan []byte, 256), done: make(chan struct{})}
	go func() {
		defer close(q.done)
		for b := range q.lines {
			_, _ = q.w.Write(b) // a closed terminal does not end the run
		}
	}()
	return q
}

// put queues b, which must not change from now on, or drops it if the queue is full. It
// never waits. After close it does nothing.
func (q *queue) put(b []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	select {
	case q.lines <- b:
	default:
		q.dropped += len(b)
	}
}

// close waits until w has taken what is queued, stops, and returns how many bytes were
// dropped. It may be called again.
func (q *queue) close() (dropped int) {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.lines)
	}
	q.mu.Unlock()
	<-q.done
	return q.dropped
}

// ReportDropped writes to w that bytes of output were not shown, if any were.
func ReportDropped(w io.Writer, dropped int) {
	if dropped > 0 {
		fmt.Fprintf(w, "[%s of output not shown: the terminal was slower than the run; the run's log has it]\n", units.Bytes(float64(dropped)))
	}
}

// longest is the length from which a line is shown before it has ended.
const longest = 4 << 10

// Printed splits what a scenario prints into whole lines that are safe for a terminal. It
// is safe for concurrent use, but Show must not call it.
type Printed struct {
	Show func([]byte) // receives one or more lines; must be set

	mu   sync.Mutex
	part []byte // a line without its end, guarded by mu
}

// Write shows the lines that b completes, together in one call of Show. An unfinished line
// of more than 4 KiB is shown too, as if it had ended; a shorter one waits for its end or
// Flush. It always returns len(b) and nil, and does not retain b.
func (p *Printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.part = append(p.part, b...)
	var out []byte
	for {
		line, rest, ok := bytes.Cut(p.part, []byte("\n"))
		if !ok {
			break
		}
		out, p.part = append(append(out, safe(line)...), '\n'), rest
	}
	if len(p.part) > longest {
		out, p.part = append(append(out, safe(p.part)...), '\n'), nil
	}
	if out != nil {
		p.Show(out)
	}
	return len(b), nil
}

// Flush shows the last line if it has not ended, with a line end. Write may still be
// called.
func (p *Printed) Flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.part) > 0 {
		p.Show([]byte(safe(p.part) + "\n"))
		p.part = nil
	}
}

// safe returns a line for a terminal: a tab becomes four blanks, a "\r" at the end is dropped,
// and other unprintable characters are shown as units.Safe does.
func safe(b []byte) string {
	s := strings.TrimSuffix(string(b), "\r")
	return units.Safe(strings.ReplaceAll(s, "\t", "    "))
}
