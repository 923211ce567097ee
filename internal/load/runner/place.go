package runner

import (
	"bytes"
	"regexp"
	"strings"
)

// frame is a function of a scenario's own package in a stack trace, and its line.
var frame = regexp.MustCompile(`(?m)^main\.(\S+?)\([^()]*\)\n\t(\S+\.go:\d+)`)

// Place finds in a panic's stack trace the function of the scenario's own package
// that it began in, or that called what it began in, and its line, as "shop.go:17".
func Place(stack []byte) (function, line string) {
	if i := bytes.Index(stack, []byte("\npanic(")); i >= 0 { // before are those who tell of it
		stack = stack[i:]
	}
	m := frame.FindSubmatch(stack)
	if m == nil {
		return "", ""
	}
	return string(m[1]), strings.TrimPrefix(string(m[2]), "./")
}

// inLine is " (shop.go:17)", or nothing.
func inLine(stack []byte) string {
	if _, line := Place(stack); line != "" {
		return " (" + line + ")"
	}
	return ""
}
