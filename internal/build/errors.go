package build

import (
	"errors"
	"fmt"
	"strings"
)

// errNoToolchain means that no usable go command was found. Errors that wrap it describe
// what to install, for the user at the terminal.
var errNoToolchain = errors.New("no Go toolchain")

// InputError is a refusal of the user's files, made before any go command ran. Callers
// branch on it: the request is wrong (HTTP 422, usage), not the build.
type InputError struct {
	File    string // as the user knows it
	Line    int    // from 1; 0 if the whole file is meant
	Field   string // what is refused: "replace", "toolchain", "import" ...
	Problem string
	Fix     string // what to do about it
}

// Error returns "file:line: field: problem; fix", without what is empty.
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

// CompileError means that the go command refused the scenario. Callers branch on it: the
// text is for the user, and gobench exits with 3.
type CompileError struct {
	// Text is the compiler's output, at most [Limits.Text] bytes, with the user's file
	// names. A //line comment of the scenario can put any name there, so callers must not
	// open the files it names. It has no control characters except newline and tab.
	Text string
	// Hint is gobench's advice beyond the text; often empty.
	Hint string
}

// Error returns the whole text, and the hint on a separate line.
func (e *CompileError) Error() string {
	if e.Hint == "" {
		return e.Text
	}
	return e.Text + "\n" + e.Hint
}

// LimitError means that a build was ended because it exceeded a limit. Callers branch on
// it: the scenario, not gobench, is at fault, and retrying will not help.
type LimitError struct {
	Resource string // "time", "memory" or "output"
	Limit    string // "2m0s", "2.0 GiB"
	Step     string // the step of the build
}

// Error returns a text that names the resource and its limit.
func (e *LimitError) Error() string {
	if e.Step == "" {
		return fmt.Sprintf("build ended: it took more than its %s limit of %s", e.Resource, e.Limit)
	}
	return fmt.Sprintf("build ended: it took more than its %s limit of %s (step: %s)", e.Resource, e.Limit, e.Step)
}

func sizeLimit(resource string, n int64) *LimitError {
	return &LimitError{Resource: resource, Limit: bytesText(n)}
}

// bytesText formats n for people, with at most one decimal: "64 KiB", "2 GiB", "1.5 MiB".
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
