package doctor

import (
	"fmt"
	"io"
	"strings"
)

// marks precede findings. Words repeat what they mean.
var marks = map[Level]string{Fine: "✓ fine ", Limit: "! limit", Stop: "✗ stop "}

// Write writes findings as text to w, and a line that counts those that stop or limit runs,
// all in one call of w.Write, whose error it returns.
func Write(w io.Writer, all []Finding) error {
	width := 0
	for _, f := range all {
		width = max(width, len(f.Name))
	}
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "%s  %-*s  %s\n", marks[f.Level], width, f.Name, f.Text)
		where := 0
		for _, l := range f.Lifts {
			where = max(where, len(l.Where)+1)
		}
		for _, l := range f.Lifts {
			fmt.Fprintf(&b, "%*s  %-*s  %s\n", len("x limit")+2+width, "", where, l.Where+":", l.Command)
		}
	}
	switch stops, limits := Stops(all); {
	case stops > 0:
		fmt.Fprintf(&b, "\n%s would stop a run; %s of large loads.\n", things(stops), limitsText(limits))
	case limits > 0:
		fmt.Fprintf(&b, "\nNothing would stop a run; %s of large loads, each with what lifts it.\n", limitsText(limits))
	default:
		b.WriteString("\nNothing would stop a run, and nothing limits large loads.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// things returns "One thing" or "n things".
func things(n int) string {
	if n == 1 {
		return "One thing"
	}
	return fmt.Sprintf("%d things", n)
}

// limitsText returns how many limits there are, as a part of a sentence: "there is one limit".
func limitsText(n int) string {
	switch n {
	case 0:
		return "there are no limits"
	case 1:
		return "there is one limit"
	}
	return fmt.Sprintf("there are %d limits", n)
}
