package runner

import (
	"bytes"
	"regexp"
	"strings"
)

// frame is a function of a scenario's own package in a stack trace, and its line.
var frame = regexp.MustCompile(`(?m)^main\.(\S+?)\([^()]*\)\n\t(\S+\.go:\d+)`)

// Place finds in a panic's stack trace the function of the scenario's own package in which the
// panic occurred or that called the function in which it did, and its line, as "shop.go:17".
// Both are "" if the trace has no such function.
func Place(stack []byte) (function, line string) {
	if i := bytes.Index(stack, []byte("\npanic(")); i >= 0 { // the frames before handle the panic
		stack = stack[i:]
	}
	m := frame.FindSubmatch(stack)
	if m == nil {
		return "", ""
	}
	return string(m[1]), strings.TrimPrefix(string(m[2]), "./")
}

// inLine returns " (shop.go:17)", or "" if the line is unknown.
func inLine(stack []byte) string {
	if _, line := Place(stack); line != "" {
		return " (" + line + ")"
	}
	return ""
}
