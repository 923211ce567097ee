package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/show/live"
	"github.com/gobench-io/gobench/internal/show/report"
)

// view shows a run as it goes: on a terminal, in lines of text, or of JSON. All but
// clear and close return at once; any goroutine may call them.
type view interface {
	tell(event.Event)
	scenario() io.Writer   // for what the scenario prints
	clear()                // shows what is queued and leaves the terminal to the report
	close(end event.Event) // tells that the run is over, and ends; again it does nothing
}

// view gives the one that suits the flags and where standard error goes.
func (a *app) view(load *loadFlags, r live.Run, press live.Press) view {
	if load.json {
		return &jsonLines{q: newQueue(a.stdout)}
	}
	if f, ok := a.stderr.(*os.File); ok && !load.quiet && !load.inside.once && live.Fits(f) {
		v := &terminalView{w: f, t: live.Open(f, os.Stdin, r, press)}
		v.printed.show = v.t.Print
		return v
	}
	v := &lines{q: newQueue(a.stderr), w: a.stderr, quiet: load.quiet, last: -time.Second}
	v.printed.show = v.q.put
	return v
}

// terminalView draws the run.
type terminalView struct {
	t       *live.Terminal
	w       io.Writer
	printed printed
	once    sync.Once
}

func (v *terminalView) tell(e event.Event)  { v.t.Tell(e) }
func (v *terminalView) scenario() io.Writer { return &v.printed }
func (v *terminalView) close(event.Event)   { v.clear() }
func (v *terminalView) clear() {
	v.once.Do(func() {
		v.printed.flush()
		tellDropped(v.w, v.t.Close())
	})
}

// lines tells of the run in lines of text, of its intervals at most one a second.
type lines struct {
	q       *queue
	w       io.Writer
	quiet   bool
	printed printed
	last    time.Duration // when an interval was last shown, since the load began
	once    sync.Once

	mu   sync.Mutex
	slow *time.Timer // shows a step that takes long, guarded by mu
}

// slowStep is how long a step before the load lasts until a line tells of it. Steps of
// the compiler are told at once.
const slowStep = time.Second

// loud are the events that are told with --quiet too.
var loud = []event.Kind{event.Control, event.Ending, event.Warning, event.Log}

func (v *lines) tell(e event.Event) {
	v.mu.Lock()
	if v.slow != nil && (e.Kind == event.Step || e.Kind == event.State) {
		v.slow.Stop()
	}
	v.mu.Unlock()
	switch {
	case v.quiet && !slices.Contains(loud, e.Kind):
	case e.Kind == event.Step && e.State != run.Compiling: // said if it takes long
		v.mu.Lock()
		v.slow = time.AfterFunc(slowStep, func() { v.say(e.Text) })
		v.mu.Unlock()
	case e.Kind == event.Interval:
		end := time.Duration((e.Interval.From + e.Interval.Seconds) * float64(time.Second))
		if end-v.last < time.Second {
			return
		}
		v.last = end
		v.say(report.Line(*e.Interval, e.Totals().Metrics))
	case e.Text != "":
		v.say(e.Text)
	}
}

func (v *lines) say(s string) { v.q.put([]byte(s + "\n")) }

func (v *lines) scenario() io.Writer {
	if v.quiet {
		return io.Discard
	}
	return &v.printed
}

func (v *lines) close(event.Event) { v.clear() }

func (v *lines) clear() {
	v.once.Do(func() {
		v.mu.Lock()
		if v.slow != nil {
			v.slow.Stop()
		}
		v.mu.Unlock()
		v.printed.flush()
		tellDropped(v.w, v.q.close())
	})
}

// jsonLines tells each event in a line of JSON.
type jsonLines struct {
	q    *queue
	once sync.Once
}

func (v *jsonLines) tell(e event.Event) {
	if e.Kind == event.Step && e.Text == "" {
		return
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(e) == nil { // no event has what can't be told
		v.q.put(b.Bytes())
	}
}

func (v *jsonLines) scenario() io.Writer { return io.Discard } // the run's log has it
func (v *jsonLines) clear()              {}

func (v *jsonLines) close(end event.Event) {
	v.once.Do(func() {
		v.tell(end)
		v.q.close()
	})
}
