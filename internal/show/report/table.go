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

// cells returns values without a tone.
func cells(texts ...string) []cell {
	row := make([]cell, len(texts))
	for i, s := range texts {
		row[i].text = s
	}
	return row
}

// Widths of tables.
const (
	pageWidth = 120 // of tables if the screen's width is unknown
	leastName = 16  // to which the first column is cut before columns move below
	indent    = 2   // of rows, below their head
)

// table writes rows below a head, after a blank line; nothing if there are no rows. A row
// may be shorter than the head. The first column is aligned left, the others right. If it
// is too wide for the screen, the space between columns shrinks; then the first column is
// cut, unless the report is full; then the last columns follow below.
func (t *text) table(head []string, rows [][]cell) {
	if len(rows) == 0 {
		return
	}
	widths := make([]int, len(head)) // with the space before a column
	total := 0
	for i, s := range head {
		widths[i] = length(s)
		for _, row := range rows {
			if i == 0 {
				widths[i] = max(widths[i], indent+length(row[i].text))
			} else if i < len(row) {
				widths[i] = max(widths[i], length(row[i].text))
			}
		}
		total += widths[i]
	}
	limit := t.width()
	gap := 2
	if limit > 0 && total+gap*(len(head)-1) > limit {
		gap = 1
	}
	for i := range widths[1:] {
		widths[i+1] += gap
	}
	total += gap * (len(head) - 1)
	if limit > 0 && total > limit && !t.Full {
		widths[0] = min(widths[0], max(limit-total+widths[0], leastName))
	}
	t.printf("\n")
	for first := 1; first < len(head); {
		next := fitting(widths, first, limit)
		t.printf("%s\n", t.head(head, widths, first, next))
		for _, row := range rows {
			t.printf("%s\n", t.row(row, widths, first, next))
		}
		first = next
	}
}

// width returns the maximum width of tables, in columns; 0 if unlimited.
func (t *text) width() int {
	switch {
	case t.Width > 0:
		return t.Width
	case t.Full:
		return 0
	}
	return pageWidth
}

// fitting returns the first column after first that does not fit beside it and the name, or
// len(widths); limit 0 means that all fit.
func fitting(widths []int, first, limit int) int {
	total := widths[0]
	for i := first; i < len(widths); i++ {
		if total += widths[i]; limit > 0 && total > limit && i > first {
			return i
		}
	}
	return len(widths)
}

// head returns the line of the head with the columns from first to before next.
func (t *text) head(head []string, widths []int, first, next int) string {
	line := head[0] + strings.Repeat(" ", widths[0]-length(head[0]))
	for i := first; i < next; i++ {
		line += strings.Repeat(" ", widths[i]-length(head[i])) + head[i]
	}
	return t.Paint(Bold, strings.TrimRight(line, " "))
}

// row returns the line of a row with the columns from first to before next.
func (t *text) row(row []cell, widths []int, first, next int) string {
	name := shorten(row[0].text, widths[0]-indent)
	line := strings.Repeat(" ", indent) + t.Paint(row[0].tone, name)
	space := widths[0] - indent - length(name)
	for i := first; i < min(next, len(row)); i++ {
		space += widths[i] - length(row[i].text)
		if row[i].text != "" { // no blanks at a line's end
			line += strings.Repeat(" ", space) + t.Paint(row[i].tone, row[i].text)
			space = 0
		}
	}
	return line
}

func length(s string) int { return utf8.RuneCountInString(s) }

// shorten cuts s to n characters, the last of them a mark for the missing rest.
func shorten(s string, n int) string {
	if length(s) <= n {
		return s
	}
	return string([]rune(s)[:max(0, n-1)]) + "…"
}
