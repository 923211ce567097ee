package build

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNoToolchain says that no usable go command was found. Errors that wrap it tell
// what to install, in words for the person at the terminal.
var ErrNoToolchain = errors.New("no Go toolchain")

// InputError is a refusal of the tester's own files, made before any go command
// ran. Callers branch on it: the request is wrong (HTTP 422, usage), not the build.
type InputError struct {
	File    string // as the tester knows it
	Line    int    // from 1; 0 when the whole file is meant
	Field   string // what is refused: "replace", "toolchain", "import" ...
	Problem string
	Fix     string // what to do about it
}

// Error gives "file:line: field: problem; fix".
func (e *InputError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	b.WriteString(e.Problem)
	if e.Fix != "" {
		b.WriteString("; " + e.Fix)
	}
	return b.String()
}

// CompileError is a scenario that the go command refused. Callers branch on it: the
// text is the tester's to read, and gobench exits with 3.
type CompileError struct {
	// Text is what the compiler said, at most [Limits.Text] bytes, with the tester's
	// own file names. A //line comment of the scenario can put any name there, so it
	// is text: nothing may open the files it names. It holds no control characters
	// but newline and tab.
	Text string
	// Hint is what gobench knows beyond the text; often empty.
	Hint string
}

// Error gives the whole text, and the hint on a line of its own.
func (e *CompileError) Error() string {
	if e.Hint == "" {
		return e.Text
	}
	return e.Text + "\n" + e.Hint
}

// LimitError is a build that was ended because it took too much. Callers branch on
// it: the scenario, not gobench, is at fault, and trying again will not help.
type LimitError struct {
	Resource string // "time", "memory" or "output"
	Limit    string // "2m0s", "2.0 GiB"
	Step     string // what the build was doing
}

// Error names the resource and its limit.
func (e *LimitError) Error() string {
	if e.Step == "" {
		return fmt.Sprintf("build ended: it took more than its %s limit of %s", e.Resource, e.Limit)
	}
	return fmt.Sprintf("build ended: it took more than its %s limit of %s (step: %s)", e.Resource, e.Limit, e.Step)
}

func sizeLimit(resource string, n int64) *LimitError {
	return &LimitError{Resource: resource, Limit: bytesText(n)}
}

// bytesText writes n for people: "64 KiB", "2 GiB", "1.5 MiB".
func bytesText(n int64) string {
	f, unit := float64(n), "bytes"
	for _, u := range []string{"KiB", "MiB", "GiB"} {
		if f < 1024 {
			break
		}
		f, unit = f/1024, u
	}
	s := fmt.Sprintf("%.1f", f)
	return strings.TrimSuffix(s, ".0") + " " + unit
}
