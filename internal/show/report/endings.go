package report

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/gobench-io/gobench/internal/run"
)

// Intervals iterates over a run's series, which may be larger than memory: it calls yield
// for each interval in the order of time. It returns the first error of yield, or its own.
type Intervals = func(yield func(run.Interval) error) error

// Format is a file format of reports.
type Format struct {
	Ending string // of file names, with its dot
	Write  func(w io.Writer, r *run.Result, each Intervals) error
}

// Formats lists all formats; the first is for programs.
var Formats = []Format{
	{".json", JSON},
	{".csv", CSV},
	{".xml", JUnit},
	{".md", Markdown},
	{".html", HTML},
}

// FormatOf returns the format for a file name, by its ending in any case; ok is false for
// another ending.
func FormatOf(name string) (Format, bool) {
	for _, f := range Formats {
		if strings.EqualFold(filepath.Ext(name), f.Ending) {
			return f, true
		}
	}
	return Format{}, false
}

// Endings returns the endings of Formats, for people: ".json, .csv ... or .html".
func Endings() string {
	var all []string
	for _, f := range Formats {
		all = append(all, f.Ending)
	}
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " or " + all[last]
}
