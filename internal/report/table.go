package report

import (
	"strings"
	"unicode/utf8"
)

// cell is one value of a table.
type cell struct {
	text string
	tone Tone
}

// cells gives values without a tone.
func cells(texts ...string) []cell {
	row := make([]cell, len(texts))
	for i, s := range texts {
		row[i].text = s
	}
	return row
}

// Widths of tables.
const (
	pageWidth = 120 // of tables where the screen's width is not known
	leastName = 16  // to which the first column is cut before columns move below
	indent    = 2   // of rows, below their head
	gap       = 2   // between columns
)

// table prints rows below a head: the first column left, the others right. Too wide
// for the screen, the first column is cut; if that is not enough, the last columns
// follow below.
func (t *text) table(head []string, rows [][]cell) {
	if len(rows) == 0 {
		return
	}
	widths := make([]int, len(head))
	for i, s := range head {
		widths[i] = length(s)
	}
	for _, row := range rows {
		for i, c := range row {
			w := length(c.text)
			if i == 0 {
				w += indent
			}
			widths[i] = max(widths[i], w)
		}
	}
	if limit := t.width(); limit > 0 {
		rest := 0
		for _, w := range widths[1:] {
			rest += gap + w
		}
		widths[0] = min(widths[0], max(limit-rest, leastName))
	}
	t.printf("\n")
	for first := 1; ; {
		next := t.columns(widths, first)
		t.printf("%s\n", t.head(head, widths, first, next))
		for _, row := range rows {
			t.printf("%s\n", t.row(row, widths, first, next))
		}
		if first = next; first >= len(head) {
			return
		}
	}
}

// width is how wide tables may be; 0: as wide as they are.
func (t *text) width() int {
	switch {
	case t.Width > 0:
		return t.Width
	case t.Full:
		return 0
	}
	return pageWidth
}

// columns gives the first column after first that does not fit beside it.
func (t *text) columns(widths []int, first int) int {
	limit, total := t.width(), widths[0]
	next := first
	for ; next < len(widths); next++ {
		if total += gap + widths[next]; limit > 0 && total > limit && next > first {
			break
		}
	}
	return next
}

func (t *text) head(head []string, widths []int, first, next int) string {
	line := head[0] + strings.Repeat(" ", max(0, widths[0]-length(head[0])))
	for i := first; i < next; i++ {
		line += strings.Repeat(" ", gap+widths[i]-length(head[i])) + head[i]
	}
	return t.Paint(Bold, strings.TrimRight(line, " "))
}

func (t *text) row(row []cell, widths []int, first, next int) string {
	name := row[0].text
	if widths[0]-indent < length(name) {
		name = shorten(name, widths[0]-indent)
	}
	line := strings.Repeat(" ", indent) + t.Paint(row[0].tone, name)
	space := widths[0] - indent - length(name)
	for i := first; i < min(next, len(row)); i++ {
		space += gap + widths[i] - length(row[i].text)
		if row[i].text != "" { // no blanks at a line's end
			line += strings.Repeat(" ", space) + t.Paint(row[i].tone, row[i].text)
			space = 0
		}
	}
	return line
}

func length(s string) int { return utf8.RuneCountInString(s) }

// shorten cuts s to n characters, with a mark where something is missing.
func shorten(s string, n int) string {
	if length(s) <= n {
		return s
	}
	return string([]rune(s)[:max(0, n-1)]) + "…"
}
