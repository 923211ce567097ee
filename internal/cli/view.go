package cli

import (
	"io"
	"os"
	"sync"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/show/lines"
	"github.com/gobench-io/gobench/internal/show/live"
)

// view shows a run as it goes: on a terminal, in lines of text, or of JSON. Show and
// Output return at once and may be used by any goroutine. Flush and Close may be called
// more than once; the JSON view writes what is queued only in Close.
type view interface {
	Show(event.Event)
	Output() io.Writer     // for what the scenario prints
	Flush()                // shows what is queued and restores the terminal, for the report
	Close(end event.Event) // shows the end of the run, and ends; further calls do nothing
}

// view returns the view that the flags and standard error ask for: JSON lines on standard
// output with --json, a drawn screen on a terminal that fits, else lines of text on
// standard error. press is called with keys on the terminal only. The caller must Close
// it.
func (a *app) view(load *loadFlags, r live.Run, press live.Press) view {
	if load.json {
		return lines.NewJSON(a.stdout)
	}
	if f, ok := a.stderr.(*os.File); ok && !load.quiet && !load.inside.once && live.Fits(f) {
		v := &terminalView{w: f, t: live.Open(f, os.Stdin, r, press)}
		v.printed.Show = v.t.Print
		return v
	}
	return lines.NewText(a.stderr, load.quiet)
}

// terminalView draws the run on a terminal until the first Flush or Close, which write how
// much of the output was dropped to w. Its Close does not show the end: the report does.
type terminalView struct {
	t       *live.Terminal
	w       io.Writer
	printed lines.Printed
	once    sync.Once
}

func (v *terminalView) Show(e event.Event) { v.t.Show(e) }
func (v *terminalView) Output() io.Writer  { return &v.printed }
func (v *terminalView) Close(event.Event)  { v.Flush() }
func (v *terminalView) Flush() {
	v.once.Do(func() {
		v.printed.Flush()
		lines.ReportDropped(v.w, v.t.Close())
	})
}
