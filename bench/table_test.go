package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestGrid(t *testing.T) {
	t.Parallel()
	got := grid{head: []string{"tool", "µs"}, rows: [][]string{{"wrk", "6.2"}, {"gobench", "10.25"}}}.markdown()
	want := `
| tool    |    µs |
| ------- | ----: |
| wrk     |   6.2 |
| gobench | 10.25 |
`
	if got != want[1:] {
		t.Errorf("got\n%swant%s", got, want)
	}
}

func TestSection(t *testing.T) {
	t.Parallel()
	s := section{
		title:    "HTTP",
		date:     time.Date(2026, 11, 21, 23, 0, 0, 0, time.UTC),
		text:     []string{"One."},
		grids:    []grid{{head: []string{"tool", "x"}, rows: [][]string{{"wrk", "1"}}}},
		versions: []string{"nginx 1.22"},
	}
	s.tools([]tool{{name: "wrk", version: "wrk 4.1.0", shown: "wrk -t1 -d{s}s URL"}, {name: "again", version: "wrk 4.1.0", shown: "wrk -t1 -d{s}s URL"}}, 5)
	s.intervals(7)
	s.noise("wrk", []shot{{usage: usage{others: 0.05}}})
	s.noise("hey", []shot{{usage: usage{others: 0.5}}})
	got := s.markdown(machine{"Xeon", 2, "24 GiB", "Debian", "6.1", "go1.26"})
	want := `## HTTP

Taken 2026-11-21 on Xeon, 2 CPUs, 24 GiB, Debian, kernel 6.1, go1.26. nginx 1.22, wrk 4.1.0.

One.

| tool |   x |
| ---- | --: |
| wrk  |   1 |

- Cells are medians of 7 runs. Ratios are medians of the ratios within each turn; the true median lies within the brackets with 98.4 % (sign test, no distribution assumed).
- **Disturbed**: beside hey, other programs used 50 % of a CPU.

` + "```\nwrk -t1 -d5s URL\n```\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestSplice writes sections in any order; they end in the order of tables.
func TestSplice(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "benchmarks.md")
	for _, w := range []struct{ name, body string }{
		{"start", "S1\n"}, {"micro", "M1\n"}, {"http", "H1\n"}, {"start", "S2\n"},
	} {
		if err := writePage(page, w.name, w.body); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := pageHead + `
<!-- table http -->
H1
<!-- end http -->

<!-- table start -->
S2
<!-- end start -->

<!-- table micro -->
M1
<!-- end micro -->
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	// Text between the sections is not changed.
	old := strings.Replace(want, "\n<!-- table micro", "\nA word.\n\n<!-- table micro", 1)
	if got := splice(old, "start", "S2\n"); got != old {
		t.Errorf("got\n%s\nwant\n%s", got, old)
	}
}

func TestThisMachine(t *testing.T) {
	t.Parallel()
	m := thisMachine()
	if m.cores < 1 || m.kernel == "unknown" || !strings.HasPrefix(m.goes, "go") {
		t.Errorf("machine = %s", m)
	}
}
