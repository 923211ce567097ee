package live

import (
	"io"
	"os"
	"sync"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/show/lines"
)

// View draws a run and what it prints on a terminal until the first Flush or Close, which
// write how much of the output was dropped. Show and Output return at once and may be used by
// any goroutine.
type View struct {
	t       *Terminal
	w       io.Writer
	printed lines.Printed
	once    sync.Once
}

// NewView begins to draw r on out, as Open does. The caller must Flush or Close it.
func NewView(out, in *os.File, r Run, press Press) *View {
	v := &View{w: out, t: Open(out, in, r, press)}
	v.printed.Show = v.t.Print
	return v
}

// Show passes an event to the screen.
func (v *View) Show(e event.Event) { v.t.Show(e) }

// Output returns a writer for what the scenario prints.
func (v *View) Output() io.Writer { return &v.printed }

// Close is Flush: it does not show the end, as the report does.
func (v *View) Close(event.Event) { v.Flush() }

// Flush shows what is queued and restores the terminal. It may be called more than once.
func (v *View) Flush() {
	v.once.Do(func() {
		v.printed.Flush()
		lines.ReportDropped(v.w, v.t.Close())
	})
}
