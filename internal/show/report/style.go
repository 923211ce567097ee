package report

import "strings"

// Style is how a screen shows text. The zero Style is for a file or a pipe: no colour, and
// lines are not wrapped, as programs need them.
type Style struct {
	Width int  // columns of the screen; 0 if unknown
	Color bool // with escape sequences for the 16 colours, which suit dark and light screens
}

// tone is the look of a text. It only repeats what the words mean.
type tone string

// The tones, as parameters of the terminal's sequence that selects a look.
const (
	plain tone = ""
	bold  tone = "1"
	good  tone = "32"
	warn  tone = "33"
	bad   tone = "31"
)

// paint returns text in a tone; unchanged without Color.
func (s Style) paint(t tone, text string) string {
	if !s.Color || t == plain || text == "" {
		return text
	}
	return "\x1b[" + string(t) + "m" + text + "\x1b[0m"
}

// wrap breaks text between words into lines that fit the screen beside an indent, at least
// 20 columns wide. A word longer than a line is not broken. Without a Width it returns text
// as one line.
func (s Style) wrap(indent int, text string) []string {
	room := max(s.Width-indent, 20)
	if s.Width == 0 || length(text) <= room {
		return []string{text}
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case length(line)+1+length(word) <= room:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}
