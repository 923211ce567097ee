package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/report"
	"github.com/gobench-io/gobench/internal/run"
)

// progress shows a run as it goes, a line a second, and passes on what the scenario
// prints. A slow terminal never holds up the run: what it does not take in time is
// left out and counted.
type progress struct {
	w     io.Writer
	quiet bool
	last  time.Duration // when an interval was last shown, since the begin

	lines chan []byte // closed by close
	done  chan struct{}

	mu      sync.Mutex
	dropped int  // bytes not shown, guarded by mu
	closed  bool // guarded by mu
}

func newProgress(w io.Writer, quiet bool) *progress {
	p := &progress{w: w, quiet: quiet, last: -time.Second, lines: make(chan []byte, 256), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		for b := range p.lines {
			_, _ = p.w.Write(b) // a closed terminal does not end the run
		}
	}()
	return p
}

// say shows a line, quiet or not.
func (p *progress) say(format string, args ...any) { p.show(fmt.Appendf(nil, format+"\n", args...)) }

// interval shows an interval, at most one a second.
func (p *progress) interval(i run.Interval, metrics func() []run.Metric) {
	end := time.Duration((i.From + i.Seconds) * float64(time.Second))
	if p.quiet || end-p.last < time.Second {
		return
	}
	p.last = end
	p.say("%s", report.Line(i, metrics()))
}

// show queues b, or drops it when the queue is full.
func (p *progress) show(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	select {
	case p.lines <- b:
	default:
		p.dropped += len(b)
	}
}

// scenario gives the writer for what the scenario prints.
func (p *progress) scenario() io.Writer {
	if p.quiet {
		return io.Discard
	}
	return writerFunc(func(b []byte) { p.show(append([]byte(nil), b...)) })
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }

// close shows what is queued and ends.
func (p *progress) close() {
	p.mu.Lock()
	p.closed = true
	close(p.lines)
	p.mu.Unlock()
	<-p.done
	if p.dropped > 0 {
		fmt.Fprintf(p.w, "[%s of output not shown: the terminal was slower than the run; the run's log has it]\n", report.Bytes(float64(p.dropped)))
	}
}
