package main

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A grid is a table of text; the first column names the row.
type grid struct {
	head []string
	rows [][]string
}

// markdown returns the table with aligned columns, so that it is readable in a terminal too:
// the first column to the left, figures to the right. head must not be empty, and no row may
// have more cells. A "|" in a cell is not escaped.
func (g grid) markdown() string {
	width := make([]int, len(g.head))
	for _, row := range append([][]string{g.head}, g.rows...) {
		for i, cell := range row {
			width[i] = max(width[i], 3, utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	line := func(row []string) {
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				cell, pad = cell+pad, ""
			}
			b.WriteString("| " + pad + cell + " ")
		}
		b.WriteString("|\n")
	}
	line(g.head)
	rule := make([]string, len(g.head))
	for i := range rule {
		rule[i] = strings.Repeat("-", width[i]-1) + ":"
	}
	rule[0] = strings.Repeat("-", width[0])
	line(rule)
	for _, row := range g.rows {
		line(row)
	}
	return b.String()
}

// A section is one table of the page and all that is needed to measure it again.
type section struct {
	name     string
	title    string
	date     time.Time
	text     []string // paragraphs above the tables
	grids    []grid
	notes    []string // below them
	versions []string
	commands []string
}

// tools adds the commands, for runs of this many seconds, and versions of the contenders
// to s, each once.
func (s *section) tools(tools []tool, seconds int) {
	for _, t := range tools {
		addOnce(&s.commands, strings.ReplaceAll(t.shown, "{s}", strconv.Itoa(seconds)))
		addOnce(&s.versions, t.version)
	}
}

// addOnce appends x to the list, unless it has x already.
func addOnce(list *[]string, x string) {
	if !slices.Contains(*list, x) {
		*list = append(*list, x)
	}
}

// reword replaces words in the commands added so far, given as old, new, old, new, and removes
// duplicates that result.
func (s *section) reword(oldnew ...string) {
	commands := s.commands
	s.commands = nil
	for _, c := range commands {
		addOnce(&s.commands, strings.NewReplacer(oldnew...).Replace(c))
	}
}

// note adds a line below the tables, once.
func (s *section) note(text string) { addOnce(&s.notes, text) }

// intervals adds a note on the numbers in brackets of cells of this many runs.
func (s *section) intervals(pairs int) {
	i := medianInterval(make([]float64, pairs), 0.95)
	s.notes = append(s.notes, fmt.Sprintf("Cells are medians of %d runs. Ratios are medians of the ratios within each turn; "+
		"the true median lies within the brackets with %.1f %% (sign test, no distribution assumed).", pairs, i.Level*100))
}

// quiet is the share of one CPU that other programs may use before a table notes it.
const quiet = 0.10

// noise adds a note if the median of what other programs used of a CPU during these shots
// of what is above quiet.
func (s *section) noise(what string, shots []shot) {
	if o := median(column(shots, func(x shot) float64 { return x.others })); o > quiet {
		s.notes = append(s.notes, fmt.Sprintf("**Disturbed**: beside %s, other programs used %.0f %% of a CPU.", what, o*100))
	}
}

// markdown returns the section for the page, from its heading on; m is where it was
// measured. Paragraphs, versions, notes and commands that are missing are left out.
func (s *section) markdown(m machine) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n", s.title)
	fmt.Fprintf(&b, "Taken %s on %s.", s.date.Format(time.DateOnly), m)
	if len(s.versions) > 0 {
		fmt.Fprintf(&b, " %s.", strings.Join(s.versions, ", "))
	}
	b.WriteString("\n\n")
	for _, p := range s.text {
		b.WriteString(p + "\n\n")
	}
	for _, g := range s.grids {
		b.WriteString(g.markdown() + "\n")
	}
	for _, n := range s.notes {
		b.WriteString("- " + n + "\n")
	}
	if len(s.notes) > 0 {
		b.WriteString("\n")
	}
	if len(s.commands) > 0 {
		b.WriteString("```\n" + strings.Join(s.commands, "\n") + "\n```\n")
	}
	return b.String()
}

const pageHead = `# Benchmarks

Gobench beside its peers. Each section is written by ` + "`go run ./bench -write -tables NAME`" + `, all of them by ` + "`make bench`" + `;
` + "`go doc ./bench`" + ` says how a figure comes about. Figures of different dates or machines do not compare.
`

// writePage writes one section to the page and leaves the others as they are; it creates a
// page that does not exist. A write that fails may leave a part of the page.
func writePage(path, name, body string) error {
	old, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.WriteFile(path, []byte(splice(string(old), name, body)), fs.FileMode(0o644))
}

// splice returns the page old with the section name replaced by body; without such a section
// it is inserted before the next one in the order of tables, or at the end. A section without
// its last line counts as missing. Text outside of it is not changed, but for empty lines at
// the end. An empty old stands for a page with only its head.
func splice(old, name, body string) string {
	if old == "" {
		old = pageHead
	}
	begin := func(name string) string { return "<!-- table " + name + " -->\n" }
	end := func(name string) string { return "<!-- end " + name + " -->\n" }
	whole := begin(name) + body + end(name)
	if i := strings.Index(old, begin(name)); i >= 0 {
		if j := strings.Index(old[i:], end(name)); j >= 0 {
			return old[:i] + whole + old[i+j+len(end(name)):]
		}
	}
	after := false // before the first section that comes later in the order
	for _, t := range tables {
		if after {
			if i := strings.Index(old, begin(t.name)); i >= 0 {
				return old[:i] + whole + "\n" + old[i:]
			}
		}
		after = after || t.name == name
	}
	return strings.TrimRight(old, "\n") + "\n\n" + whole
}
