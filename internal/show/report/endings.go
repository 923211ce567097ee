package report

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/gobench-io/gobench/internal/run"
)

// Intervals gives a run's series, which may be more than memory holds: it calls yield
// for each interval in the order of time, and ends with yield's error or its own.
type Intervals = func(yield func(run.Interval) error) error

// Format is a form of report in files.
type Format struct {
	Ending string // of names of such files, with its point
	Write  func(w io.Writer, r *run.Result, each Intervals) error
}

// Formats are all there are; the first is that of programs.
var Formats = []Format{
	{".json", JSON},
	{".csv", CSV},
	{".xml", JUnit},
	{".md", Markdown},
	{".html", HTML},
}

// FormatOf gives the format that a file's name tells by its ending.
func FormatOf(name string) (Format, bool) {
	for _, f := range Formats {
		if strings.EqualFold(filepath.Ext(name), f.Ending) {
			return f, true
		}
	}
	return Format{}, false
}

// Endings lists the endings of Formats for people.
func Endings() string {
	var all []string
	for _, f := range Formats {
		all = append(all, f.Ending)
	}
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " or " + all[last]
}
