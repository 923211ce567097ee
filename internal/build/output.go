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

// output takes what the go command prints. Of the compiler's text it keeps the
// first limit bytes and counts the rest; go's own lines on downloads go to progress
// and those on versions it chose become notes.
type output struct {
	limit    int
	progress func(string)

	mu    sync.Mutex
	line  []byte // the unfinished one
	text  bytes.Buffer
	over  int64 // bytes of text that were not kept
	notes []string
}

// Write never fails: a build is not ended for what it prints.
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

// hold keeps part of a line; one longer than the limit is cut.
func (o *output) hold(p []byte) {
	if free := o.limit + 1 - len(o.line); len(p) > free {
		o.over += int64(len(p) - free)
		p = p[:free]
	}
	o.line = append(o.line, p...)
}

func (o *output) endLine() {
	line := o.line
	o.line = o.line[:0]
	s := strings.TrimRight(string(line), "\r\n")
	switch {
	case strings.HasPrefix(s, "# "): // the package whose errors follow; they name its files
	case strings.HasPrefix(s, "go: downloading "):
		o.progress(printable(strings.TrimPrefix(s, "go: ")))
	case strings.HasPrefix(s, "go: finding module for package "):
		o.progress(printable(strings.TrimPrefix(s, "go: ")))
	case strings.HasPrefix(s, "go: found "):
		if len(o.notes) < 100 {
			o.notes = append(o.notes, "go.mod: "+printable(strings.TrimPrefix(s, "go: ")))
		}
	default:
		room := max(0, o.limit-o.text.Len())
		kept := min(room, len(line))
		o.text.Write(line[:kept])
		o.over += int64(len(line) - kept)
	}
}

// result gives the text so far, in whole characters, and the notes.
func (o *output) result() (text string, notes []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.line) > 0 {
		o.endLine()
	}
	text = strings.TrimRight(printable(o.text.String()), "\n")
	if len(text) > o.limit { // escapes are longer than what they stand for
		o.over += int64(len(text) - o.limit)
		text = strings.ToValidUTF8(text[:o.limit], "")
	}
	if o.over > 0 {
		text += fmt.Sprintf("\n(%d more bytes)", o.over)
	}
	return text, o.notes
}

// printable escapes what could move a terminal's cursor or end a log line: every
// control and invisible character but newline and tab.
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

// rename puts the tester's own names into compiler text: the copy at root, whose
// package is in dir (slashed, relative), is shown as display. A name that is no
// file of the copy, which a //line comment can make, stays as it is.
func rename(text, root, dir, display string, has func(name string) bool) string {
	text = position.ReplaceAllStringFunc(text, func(m string) string {
		part := position.FindStringSubmatch(m)
		name := filepath.ToSlash(part[2])
		if path.IsAbs(name) || !has(path.Join(dir, name)) {
			return m
		}
		return part[1] + filepath.Join(display, filepath.FromSlash(name)) + ":" + part[3]
	})
	here := filepath.Join(root, filepath.FromSlash(dir))
	return strings.NewReplacer(here+string(filepath.Separator), withSlash(display), here, display,
		root+string(filepath.Separator), withSlash(relative(display, dir)), root, relative(display, dir)).Replace(text)
}

// relative is the display name of the module's root, dir being its package shown as
// display.
func relative(display, dir string) string {
	for range strings.FieldsFunc(path.Clean("/"+dir), func(r rune) bool { return r == '/' }) {
		display = filepath.Join(display, "..")
	}
	return display
}

func withSlash(dir string) string {
	if dir == "." || dir == "" {
		return ""
	}
	return strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator)
}
