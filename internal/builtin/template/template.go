// Package template renders texts that differ from one request to the next, such as
// /items/{{seq}}?user={{data.name}}. docs/templates.md describes what is allowed between the
// braces. Rendering into a reused buffer does not allocate.
package template

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gobench-io/gobench/executor/data"
	"github.com/gobench-io/gobench/internal/run/uuid"
)

// Values holds the values for rendering a request's texts. Number, UUID and row are the same
// in all texts of one request. Rand and Row may be nil if no text uses them. It is for one
// goroutine.
type Values struct {
	User int64      // vui, for {{vu}}
	Seq  int64      // for {{seq}}
	Rand *rand.Rand // for {{rand A B}} and {{uuid}}
	Row  *data.Row  // for {{data.COLUMN}}

	uuid    [36]byte
	hasUUID bool
}

// Next prepares the values for another request, with the number seq.
func (v *Values) Next(seq int64) { v.Seq, v.hasUUID = seq, false }

// Template is a parsed text. It is immutable.
type Template struct {
	parts []part
}

// part is a piece of a text.
type part struct {
	kind     kind
	text     string // of a literal part; the column of a column part
	low      int64  // of random
	span     uint64 // of random: the number of possible values, 0 for all 2^64
	encoding encoding
}

type kind int

const (
	literal kind = iota
	sequence
	randomID
	random
	user
	column
)

// encoding defines how a value is escaped in its text.
type encoding int

const (
	plain  encoding = iota
	inURL           // percent-encoded (RFC 3986, section 2.3)
	inJSON          // for the inside of a quoted JSON string
)

// known lists what is allowed between braces.
const known = `seq, uuid, rand LOW HIGH, vu, data.COLUMN; json or url before one of them encodes it, "text" stands for itself`

// Parse parses a text. A text without {{ is constant, and so is "". The error describes the
// invalid part, with the column in characters, from 1, of its braces.
func Parse(text string) (*Template, error) { return parse(text, plain) }

// ParseURL is Parse for the text of a URL: inserted values are percent-encoded.
func ParseURL(text string) (*Template, error) { return parse(text, inURL) }

// parse is Parse, with the encoding of parts that do not choose one.
func parse(text string, encoding encoding) (*Template, error) {
	t := new(Template)
	for rest := text; rest != ""; {
		before, inside, found := strings.Cut(rest, "{{")
		t.literal(before)
		if !found {
			break
		}
		at := len(text) - len(inside) - len("{{")
		end := endOf(inside)
		if end < 0 {
			return nil, fmt.Errorf("column %d: {{ without }} after it (for braces of your own write {{\"{{\"}})", utf8.RuneCountInString(text[:at])+1)
		}
		p, err := parsePart(strings.TrimSpace(inside[:end]), encoding)
		if err != nil {
			return nil, fmt.Errorf("column %d: {{%s}}: %w", utf8.RuneCountInString(text[:at])+1, inside[:end], err)
		}
		if p.kind == literal {
			t.literal(p.text)
		} else {
			t.parts = append(t.parts, p)
		}
		rest = inside[end+len("}}"):]
	}
	return t, nil
}

// endOf returns the index of the braces that end a part, ignoring those in quotes; -1 without
// such braces.
func endOf(inside string) int {
	quoted := false
	for i := range len(inside) {
		switch {
		case inside[i] == '"':
			quoted = !quoted
		case !quoted && strings.HasPrefix(inside[i:], "}}"):
			return i
		}
	}
	return -1
}

// parsePart parses the text between the braces, without space around it. A quoted text becomes
// a literal part. The error lists what is allowed, or describes the wrong argument.
func parsePart(s string, encoding encoding) (part, error) {
	if text, ok := strings.CutPrefix(s, `"`); ok {
		text, ok = strings.CutSuffix(text, `"`)
		if !ok {
			return part{}, fmt.Errorf("a quote that is not closed")
		}
		return part{kind: literal, text: text}, nil
	}
	p := part{encoding: encoding}
	words := strings.Fields(s)
	if len(words) > 1 {
		switch words[0] {
		case "json":
			p.encoding, words = inJSON, words[1:]
		case "url":
			p.encoding, words = inURL, words[1:]
		}
	}
	name := ""
	if len(words) > 0 {
		name = words[0]
	}
	arguments := words[min(1, len(words)):]
	wants := 0
	switch {
	case name == "seq":
		p.kind = sequence
	case name == "uuid":
		p.kind = randomID
	case name == "vu":
		p.kind = user
	case name == "rand":
		p.kind, wants = random, 2
	case strings.HasPrefix(name, "data."): // a column's name may contain spaces
		p.kind = column
		_, p.text, _ = strings.Cut(s, "data.")
		arguments = nil
	default:
		return p, fmt.Errorf("want one of %s", known)
	}
	if len(arguments) != wants {
		return p, fmt.Errorf("%s takes %d numbers, not %d", name, wants, len(arguments))
	}
	if p.kind == random {
		return p, p.parseRange(arguments[0], arguments[1])
	}
	if p.kind == column && p.text == "" {
		return p, fmt.Errorf("no column is named after data")
	}
	return p, nil
}

// parseRange sets p's range to the whole numbers from low to high, both included. It returns
// an error if one is not an int64 or low is above high.
func (p *part) parseRange(low, high string) error {
	a, err := strconv.ParseInt(low, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is no whole number", low)
	}
	b, err := strconv.ParseInt(high, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is no whole number", high)
	}
	if a > b {
		return fmt.Errorf("%d is above %d", a, b)
	}
	p.low, p.span = a, uint64(b)-uint64(a)+1
	return nil
}

// literal adds a constant text, to the last part if that is constant too. "" adds nothing.
func (t *Template) literal(text string) {
	if n := len(t.parts); n > 0 && t.parts[n-1].kind == literal {
		t.parts[n-1].text += text
	} else if text != "" {
		t.parts = append(t.parts, part{kind: literal, text: text})
	}
}

// Fixed reports whether the text is the same for every request, and returns it; "" if not.
func (t *Template) Fixed() (text string, fixed bool) {
	switch {
	case len(t.parts) == 0:
		return "", true
	case len(t.parts) == 1 && t.parts[0].kind == literal:
		return t.parts[0].text, true
	}
	return "", false
}

// Columns returns the columns of a row that the text uses, each once; nil if it uses none.
func (t *Template) Columns() (columns []string) {
	for _, p := range t.parts {
		if p.kind == column && !slices.Contains(columns, p.text) {
			columns = append(columns, p.text)
		}
	}
	return columns
}

// Append appends the text of a request to b and returns the result. A column that a row of
// JSON lacks is empty; it panics if a CSV row has no column that the text uses, or if v
// lacks the Rand or the read Row that it needs. Several goroutines may use t at once, each
// with its own v.
func (t *Template) Append(b []byte, v *Values) []byte {
	for i := range t.parts {
		p := &t.parts[i]
		switch p.kind {
		case literal:
			b = append(b, p.text...)
		case sequence:
			b = strconv.AppendInt(b, v.Seq, 10)
		case user:
			b = strconv.AppendInt(b, v.User, 10)
		case random:
			n := v.Rand.Uint64()
			if p.span != 0 {
				n = v.Rand.Uint64N(p.span)
			}
			b = strconv.AppendInt(b, int64(uint64(p.low)+n), 10)
		case randomID:
			b = v.appendUUID(b)
		case column:
			at := len(b)
			b = p.encoding.encode(v.Row.Append(b, p.text), at)
		}
	}
	return b
}

// appendUUID appends the request's UUID, as its 36 characters. The first call after Next draws it. v.Rand must be set.
func (v *Values) appendUUID(b []byte) []byte {
	if !v.hasUUID {
		uuid.Append(v.uuid[:0], v.Rand)
		v.hasUUID = true
	}
	return append(b, v.uuid[:]...)
}

// encode replaces b[from:] by its encoded form and returns the result. It first appends the
// encoded bytes, then moves them to from.
func (e encoding) encode(b []byte, from int) []byte {
	if e == plain {
		return b
	}
	end := len(b)
	for i := from; i < end; i++ {
		if e == inURL {
			b = appendPercent(b, b[i])
		} else {
			b = appendEscaped(b, b[i])
		}
	}
	return b[:from+copy(b[from:], b[end:])]
}

// appendPercent appends c, percent-encoded unless it is an unreserved character of RFC 3986.
func appendPercent(b []byte, c byte) []byte {
	if '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-' || c == '.' || c == '_' || c == '~' {
		return append(b, c)
	}
	return append(b, '%', "0123456789ABCDEF"[c>>4], "0123456789ABCDEF"[c&15])
}

// appendEscaped appends c, escaped if a JSON string can't contain it (RFC 8259, section 7).
func appendEscaped(b []byte, c byte) []byte {
	switch {
	case c == '"' || c == '\\':
		return append(b, '\\', c)
	case c == '\n':
		return append(b, `\n`...)
	case c == '\r':
		return append(b, `\r`...)
	case c == '\t':
		return append(b, `\t`...)
	case c < ' ':
		return append(b, '\\', 'u', '0', '0', "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
	}
	return append(b, c)
}
