package cli

import (
	"io"
	"os"

	"github.com/gobench-io/gobench/internal/run/system"
	"github.com/gobench-io/gobench/internal/show/report"
)

// styleOf returns how text is shown on w: if w is a terminal, as wide as that and in
// colour, unless NO_COLOR (no-color.org) or TERM=dumb is set; else the zero Style.
func styleOf(w io.Writer) report.Style {
	file, ok := w.(*os.File)
	if !ok {
		return report.Style{}
	}
	width, err := system.Columns(file)
	if err != nil { // not a terminal
		return report.Style{}
	}
	return report.Style{Width: width, Color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}
