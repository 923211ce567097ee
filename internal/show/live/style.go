package live

import "strings"

// style is how a piece of text looks: one of the terminal's own sixteen colours, so that it
// is readable on dark and on light.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
)

// line is a line of the screen under construction: never wider than its width.
type line struct {
	b     strings.Builder
	width int
	n     int // columns written
	color bool
}

// add appends s, without escape sequences, as far as it fits, cut with an ellipsis. It
// returns l.
func (l *line) add(st style, s string) *line {
	if n := columns(s); n > l.width-l.n {
		if l.width <= l.n {
			return l
		}
		s = string([]rune(s)[:l.width-l.n-1]) + "…"
	}
	l.n += columns(s)
	if st == plain || !l.color || s == "" {
		l.b.WriteString(s)
	} else {
		l.b.WriteString("\x1b[" + string(st) + "m" + s + "\x1b[m")
	}
	return l
}

// to appends blanks up to a column, if the line is shorter. It returns l.
func (l *line) to(column int) *line {
	if n := min(column, l.width) - l.n; n > 0 {
		l.add(plain, strings.Repeat(" ", n))
	}
	return l
}

// right appends s so that it ends at a column, or later if the line is already longer.
func (l *line) right(st style, s string, column int) *line {
	return l.to(column-columns(s)).add(st, s)
}

func (l *line) String() string { return strings.TrimRight(l.b.String(), " ") }

// columns returns the width of s. East Asian wide characters count as one: the terminal
// cuts off what exceeds the line, since it does not wrap the lines of the block.
func columns(s string) (n int) {
	for range s {
		n++
	}
	return n
}
