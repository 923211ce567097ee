package cli

import (
	"io"
	"os"

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
		return live.NewView(f, os.Stdin, r, press)
	}
	return lines.NewText(a.stderr, load.quiet)
}
