// Package transcript writes, for people, what was sent to a server and what it answered:
// without secrets, and safe for a terminal whatever was sent.
package transcript

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gobench-io/gobench/internal/run/redact"
	"github.com/gobench-io/gobench/internal/run/units"
)

// Exchange is a request and its response, as they went over the wire.
type Exchange struct {
	Source string    // the client's prefix
	What   string    // in one line: "GET http://example.com/"
	Began  time.Time // zero: just now
	Peer   string    // address of the server, or of the proxy; "" if there was no connection
	About  []string  // of the connection, in a few words each: "new connection", "TLS 1.3"
	Parts  []Part    // the steps and their durations, in order
	Sent   Message
	Came   Message
	Error  string // what went wrong; "" if nothing
}

// Part is one step of an exchange and how long it took.
type Part struct {
	Name string // "connect"
	Took time.Duration
}

// Message is what one side sent.
type Message struct {
	Head string // lines, each ending in "\n" or "\r\n"; may be empty
	Body []byte // may be only its beginning
	Size int64  // of the whole body, in bytes; Text mentions what Body lacks
}

// Shown is how much of a head, or of a body, a client has to provide, in bytes: no more is
// shown.
const Shown = 16 << 10

// shownBody is how much of a body Text shows.
const shownBody = 4 << 10

// limits are how much of a head and of a body is written, in bytes.
type limits struct{ head, body int }

// Text returns x as lines, without a line end after the last: what was sent after ">", what
// was received after "<", at most 16 KiB of each head and 4 KiB of each body. Secrets are
// redacted. of, the user, is put in brackets unless it is empty.
func (x *Exchange) Text(of string) string { return x.text(of, limits{Shown, shownBody}) }

// Sample is Text with at most 1200 bytes of each head and 600 of each body.
func (x *Exchange) Sample(of string) string { return x.text(of, limits{1200, 600}) }

// text implements Text and Sample.
func (x *Exchange) text(of string, l limits) string {
	var b strings.Builder
	b.WriteString(Clean(redact.Line(x.What)))
	if of != "" {
		b.WriteString("  (" + Clean(of) + ")")
	}
	var about []string
	if x.Peer != "" {
		about = append(about, "peer "+x.Peer)
	}
	about = append(about, x.About...)
	for _, p := range x.Parts {
		about = append(about, p.Name+" "+units.Millis(p.Took.Seconds()*1e3))
	}
	if len(about) > 0 {
		b.WriteString("\n  " + Clean(strings.Join(about, ", ")))
	}
	x.Sent.write(&b, "> ", l)
	x.Came.write(&b, "< ", l)
	if x.Error != "" {
		for line := range strings.Lines(cut(x.Error, 2*l.head)) {
			b.WriteString("\n  " + Clean(spaced(redact.Line(strings.TrimRight(line, "\r\n")))))
		}
	}
	return b.String()
}

// write writes the lines of m, redacted, each after a line end and with mark before it; a
// body that is no text as its number of bytes. What is cut off is counted in a last line,
// as "[12 more bytes]". An empty message writes nothing.
func (m *Message) write(b *strings.Builder, mark string, l limits) {
	line := func(s string) {
		b.WriteString("\n" + strings.TrimRight(mark+Clean(s), " "))
	}
	head := redact.Head(strings.TrimRight(m.Head, "\r\n"))
	if head != "" {
		for s := range strings.Lines(cut(head, l.head)) {
			line(strings.TrimRight(s, "\r\n"))
		}
		if len(head) > l.head {
			line(fmt.Sprintf("[%d more bytes of the head]", len(head)-l.head))
		}
	}
	if len(m.Body) == 0 && m.Size == 0 {
		return
	}
	if head != "" {
		line("")
	}
	shown := m.Body[:min(len(m.Body), l.body)]
	if len(shown) < len(m.Body) || int64(len(shown)) < m.Size {
		for n := 0; n < utf8.UTFMax-1 && len(shown) > 0 && !utf8.Valid(shown); n++ { // it may end within a character
			shown = shown[:len(shown)-1]
		}
	}
	if !printable(shown) {
		line(fmt.Sprintf("[%d bytes that are no text]", max(m.Size, int64(len(m.Body)))))
		return
	}
	for s := range strings.Lines(redact.Body(string(shown))) {
		line(spaced(strings.TrimRight(s, "\r\n")))
	}
	if more := max(m.Size, int64(len(m.Body))) - int64(len(shown)); more > 0 {
		line(fmt.Sprintf("[%d more bytes]", more))
	}
}

// spaced replaces tabs by spaces.
func spaced(s string) string { return strings.ReplaceAll(s, "\t", "    ") }

// printable reports whether b, which may be empty, is a text: UTF-8, with at most two
// control characters and one more for every 20 bytes, line ends and tabs aside.
func printable(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	odd := 0
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' {
			odd++
		}
	}
	return odd <= 2+len(b)/20
}

// Clean returns s safe for a line of a terminal: unprintable characters, line ends and tabs
// among them, and bytes that are no UTF-8 are escaped, as "\t", "\x1b" or "\u200b".
func Clean(s string) string {
	if !strings.ContainsFunc(s, odd) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\t':
			b.WriteString(`\t`)
		case r == utf8.RuneError && n == 1 || odd(r) && r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case odd(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

func odd(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }

// cut returns s, or, if it is longer, its first most bytes without those that are no UTF-8,
// such as the rest of a character that was cut.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}
