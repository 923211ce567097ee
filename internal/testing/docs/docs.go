// Package docs reads the samples of README.md and docs, and its tests hold them, and
// docs/architecture.md, against the code. docs/README.md describes how samples are written.
package docs

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/testing/repo"
)

// Block is a fenced block of a page.
type Block struct {
	Page   string // the page's path from the repository's root
	Line   int    // the number of its first line of text
	Kind   string // the text behind the fence: go, sh, go sketch
	Text   string
	NotRun string // why its commands can't be run; empty if they can
	With   string // Go declarations that a reader needs no sight of, for compiling it
}

func (s Block) String() string { return fmt.Sprintf("%s:%d", s.Page, s.Line) }

var (
	fence   = regexp.MustCompile("^```(.*)$")
	comment = regexp.MustCompile(`^<!-- (not run|with): (.+) -->$`)
)

// Blocks returns the fenced blocks of a page, which is named by its path from the
// repository's root, in order. It fails the test if it cannot read the page or the last
// block has no end.
func Blocks(tb testing.TB, page string) (all []Block) {
	tb.Helper()
	text, err := os.ReadFile(repo.Path(tb, page))
	if err != nil {
		tb.Fatal(err)
	}
	var open *Block
	next := Block{Page: page}
	for i, line := range strings.Split(string(text), "\n") {
		m := fence.FindStringSubmatch(line)
		switch note := comment.FindStringSubmatch(line); {
		case open == nil && m != nil:
			next.Kind, next.Line = m[1], i+2
			open = &next
		case open != nil && m != nil:
			all = append(all, *open)
			open, next = nil, Block{Page: page}
		case open != nil:
			open.Text += line + "\n"
		case note != nil && note[1] == "not run":
			next.NotRun = note[2]
		case note != nil:
			next.With += note[2] + "\n"
		}
	}
	if open != nil {
		tb.Errorf("%s:%d: the block has no end", page, open.Line)
	}
	return all
}
