package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/gobench-io/gobench/internal/run/units"
)

// queue writes what is told of a run that goes on. A slow reader never holds up the
// run: what it does not take in time is left out and counted.
type queue struct {
	w     io.Writer
	lines chan []byte // closed by close
	done  chan struct{}

	mu      sync.Mutex
	dropped int  // bytes not shown, guarded by mu
	closed  bool // guarded by mu
}

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

// put queues b, or drops it when the queue is full.
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

// close writes what is queued and ends; it tells how many bytes were dropped.
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

// tellDropped says that not all was shown.
func tellDropped(w io.Writer, dropped int) {
	if dropped > 0 {
		fmt.Fprintf(w, "[%s of output not shown: the terminal was slower than the run; the run's log has it]\n", units.Bytes(float64(dropped)))
	}
}

// longest is how much of a line is waited for before it is shown.
const longest = 4 << 10

// printed makes whole lines, safe for a terminal, of what a scenario prints.
type printed struct {
	show func([]byte)

	mu   sync.Mutex
	rest []byte // of a line whose end has not come, guarded by mu
}

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest = append(p.rest, b...)
	var out []byte
	for {
		line, rest, ok := bytes.Cut(p.rest, []byte("\n"))
		if !ok {
			break
		}
		out, p.rest = append(append(out, safeLine(line)...), '\n'), rest
	}
	if len(p.rest) > longest {
		out, p.rest = append(append(out, safeLine(p.rest)...), '\n'), nil
	}
	if out != nil {
		p.show(out)
	}
	return len(b), nil
}

// flush shows a last line that has no end.
func (p *printed) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.rest) > 0 {
		p.show([]byte(safeLine(p.rest) + "\n"))
		p.rest = nil
	}
}

// safeLine is a line without what could steer a terminal.
func safeLine(b []byte) string {
	s := strings.TrimSuffix(string(b), "\r")
	return units.Safe(strings.ReplaceAll(s, "\t", "    "))
}
