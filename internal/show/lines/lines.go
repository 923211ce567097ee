// Package lines shows the events of a run as lines of text or of JSON, for output that is
// not a terminal.
package lines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
	"github.com/gobench-io/gobench/internal/show/report"
)

// Text shows a run in lines of text, with at most one line a second for its intervals. Show
// and writes to Output may be called concurrently; they do not wait for w: what a slow one
// does not take in time is dropped and counted.
type Text struct {
	q       *queue
	w       io.Writer
	quiet   bool
	printed Printed
	once    sync.Once

	mu   sync.Mutex
	last time.Duration // end of the interval that was shown last, since the load began; guarded by mu
	slow *time.Timer   // shows a step that takes long; guarded by mu
}

// NewText returns a Text that writes to w from a goroutine of its own. With quiet it shows
// only warnings and what the user did. The caller must call Close or Flush.
func NewText(w io.Writer, quiet bool) *Text {
	t := &Text{q: newQueue(w), w: w, quiet: quiet, last: -time.Second}
	t.printed.Show = t.q.put
	return t
}

// slowStep is how long a step before the load takes before it is shown. Steps of the
// compiler are shown at once.
const slowStep = time.Second

// always are the events that are shown with quiet too.
var always = []event.Kind{event.Control, event.Ending, event.Warning, event.Log}

// Show shows an event's text in a line, or the line of an interval if a second of the load has
// passed since the last one shown; with quiet only what NewText says. A step is shown only if
// no other step or state follows within a second; one of the compiler at once. After Flush it
// shows nothing.
func (t *Text) Show(e event.Event) {
	t.mu.Lock()
	if t.slow != nil && (e.Kind == event.Step || e.Kind == event.State || e.Kind == event.Ended) {
		t.slow.Stop()
	}
	t.mu.Unlock()
	switch {
	case t.quiet && !slices.Contains(always, e.Kind):
	case e.Kind == event.Step && e.State != run.Compiling, e.Kind == event.Drain:
		t.mu.Lock()
		t.slow = time.AfterFunc(slowStep, func() { t.put(e.Text) })
		t.mu.Unlock()
	case e.Kind == event.Interval:
		end := time.Duration((e.Interval.From + e.Interval.Seconds) * float64(time.Second))
		t.mu.Lock()
		due := end-t.last >= time.Second
		if due {
			t.last = end
		}
		t.mu.Unlock()
		if !due {
			return
		}
		t.put(report.Line(*e.Interval, e.Totals().Metrics))
	case e.Text != "":
		t.put(e.Text)
	}
}

func (t *Text) put(s string) { t.q.put([]byte(s + "\n")) }

// Output returns the writer for what the scenario prints, by whole lines; with quiet it
// discards.
func (t *Text) Output() io.Writer {
	if t.quiet {
		return io.Discard
	}
	return &t.printed
}

// Flush writes what is queued, and how much was dropped, and stops: it waits until w has
// taken all. Further calls do nothing.
func (t *Text) Flush() {
	t.once.Do(func() {
		t.mu.Lock()
		if t.slow != nil {
			t.slow.Stop()
		}
		t.mu.Unlock()
		t.printed.Flush()
		ReportDropped(t.w, t.q.close())
	})
}

// Close is like Flush: the report shows the end of the run.
func (t *Text) Close(event.Event) { t.Flush() }

// JSON shows each event of a run as a line of JSON (docs/formats/events.md). It is safe for
// concurrent use.
type JSON struct {
	q    *queue
	w    io.Writer
	once sync.Once
}

// NewJSON returns a JSON that writes to w. The caller must call Close.
func NewJSON(w io.Writer) *JSON { return &JSON{q: newQueue(w), w: w} }

// Show queues an event as a line of JSON; it is dropped if 256 are waiting for w. Steps
// without a text are left out. After Close it does nothing.
func (j *JSON) Show(e event.Event) {
	if e.Kind == event.Step && e.Text == "" {
		return
	}
	j.q.put(lineOf(e))
}

// lineOf returns an event as a line of JSON, with its line end.
func lineOf(e event.Event) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(e) // all events can be encoded
	return b.Bytes()
}

// Output returns a writer that discards: the run's log has what the scenario prints.
func (j *JSON) Output() io.Writer { return io.Discard }

// Flush does nothing: Close does.
func (j *JSON) Flush() {}

// Close waits until w has taken what is queued. It then writes a warning if lines were
// dropped, and the end of the run, which is never dropped. Further calls do nothing.
func (j *JSON) Close(end event.Event) {
	j.once.Do(func() {
		if dropped := j.q.close(); dropped > 0 {
			text := fmt.Sprintf("%s of events are missing here: the reader was slower than the run", units.Bytes(float64(dropped)))
			_, _ = j.w.Write(lineOf(event.Event{Kind: event.Warning, Time: end.Time, Text: text})) // as in the queue
		}
		_, _ = j.w.Write(lineOf(end))
	})
}
