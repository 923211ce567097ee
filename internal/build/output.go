package build

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// output reads what the go command prints. It stores the first limit bytes of the compiler's
// text; go's own lines on downloads are passed to progress, which must be set.
type output struct {
	limit    int
	progress func(string)
	compiles func(string) // called with what go build -v prints; nil without -v

	mu   sync.Mutex
	line []byte // the incomplete one
	text bytes.Buffer
	over int // bytes of text that were dropped
}

// packageLine is a line of go build -v: a package's path and nothing else.
var packageLine = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~+/-]*$`)

// Write reads the lines of p, of which it makes a copy. It never returns an error: a build
// is not ended for what it prints. It calls progress and compiles while mu is held.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			o.hold(p)
			break
		}
		o.hold(p[:i+1])
		o.endLine()
		p = p[i+1:]
	}
	return n, nil
}

// hold appends to the incomplete line; what exceeds the limit is dropped and counted. The
// caller must hold mu.
func (o *output) hold(p []byte) {
	if free := o.limit + 1 - len(o.line); len(p) > free {
		o.over += len(p) - free
		p = p[:free]
	}
	o.line = append(o.line, p...)
}

// endLine passes the line on, to progress, compiles or text, or drops it, and begins a new
// one. The caller must hold mu.
func (o *output) endLine() {
	line := o.line
	o.line = o.line[:0]
	s := strings.TrimRight(string(line), "\r\n")
	switch {
	case strings.HasPrefix(s, "# "): // the package of the errors that follow; they name its files
	case strings.HasPrefix(s, "go: downloading "):
		o.progress(printable(strings.TrimPrefix(s, "go: ")))
	case strings.HasPrefix(s, "go: finding module for package "):
		o.progress(printable(strings.TrimPrefix(s, "go: ")))
	case strings.HasPrefix(s, "go: found "): // go.mod has it now
	case o.compiles != nil && packageLine.MatchString(s):
		o.compiles(s)
	default:
		room := max(0, o.limit-o.text.Len())
		kept := min(room, len(line))
		o.text.Write(line[:kept])
		o.over += len(line) - kept
	}
}

// result returns the compiler's text so far, printable, without newlines at its end, and at
// most limit bytes: if it is cut, at a character boundary and with "(and more)" at its end.
// It ends an incomplete line: call it when nothing more is written.
func (o *output) result() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.line) > 0 {
		o.endLine()
	}
	text := strings.TrimRight(printable(o.text.String()), "\n")
	if o.over == 0 && len(text) <= o.limit {
		return text
	}
	const more = "\n(and more)"
	room := max(0, o.limit-len(more))
	return strings.ToValidUTF8(text[:min(room, len(text))], "") + more
}

// printable returns s with each character that is not printable, such as control and
// invisible ones, escaped as \u and four or more hexadecimal digits, and each byte that is
// not UTF-8 as \x and two, so that s cannot move a terminal's cursor. Newlines, tabs and
// spaces stay.
func printable(s string) string {
	bad := func(r rune) bool {
		return r == utf8.RuneError || (!unicode.IsPrint(r) && r != '\n' && r != '\t')
	}
	if strings.IndexFunc(s, bad) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case bad(r) && r != utf8.RuneError:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// position is a file name and line at the start of a line of compiler text.
var position = regexp.MustCompile(`(?m)^([ \t]*)([^\n:]+\.go):([0-9]+)`)

// rename replaces file names in compiler text by the user's: the copy at root, whose
// package is in dir (slashed, relative), is shown as display, and a file below one of
// modules by its module. has reports whether the copy has a file, slashed and relative to
// root. Other names, which a //line comment can make, stay as they are.
func rename(text, root, dir, display string, modules []string, has func(name string) bool) string {
	here := filepath.Join(root, filepath.FromSlash(dir))
	text = position.ReplaceAllStringFunc(text, func(m string) string {
		part := position.FindStringSubmatch(m)
		name := filepath.ToSlash(part[2])
		if path.IsAbs(name) {
			return m
		}
		if has(path.Join(dir, name)) {
			return part[1] + filepath.Join(display, filepath.FromSlash(name)) + ":" + part[3]
		}
		for _, module := range modules {
			if rest, ok := strings.CutPrefix(filepath.Join(here, filepath.FromSlash(name)), module+string(filepath.Separator)); ok {
				return part[1] + rest + ":" + part[3]
			}
		}
		return m
	})
	for _, module := range modules {
		text = strings.ReplaceAll(text, module+string(filepath.Separator), "")
	}
	return strings.NewReplacer(here+string(filepath.Separator), withSlash(display), here, display,
		root+string(filepath.Separator), withSlash(relative(display, dir)), root, relative(display, dir)).Replace(text)
}

// relative returns the display name of the module's root, dir being its package shown as
// display: display with ".." for each element of dir.
func relative(display, dir string) string {
	for range strings.FieldsFunc(path.Clean("/"+dir), func(r rune) bool { return r == '/' }) {
		display = filepath.Join(display, "..")
	}
	return display
}

// withSlash returns dir with one separator at its end, or "" for "." and "".
func withSlash(dir string) string {
	if dir == "." || dir == "" {
		return ""
	}
	return strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator)
}
