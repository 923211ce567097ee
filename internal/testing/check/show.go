package check

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/run/units"
	"github.com/gobench-io/gobench/internal/show/report"
)

// show checks the rest of I13 for a run with totals: gobench show prints the totals of the
// store, as text, in full, and as JSON. As text it may leave out metrics. It returns an error
// if the program fails, also because ctx ended.
func (c *checker) show(ctx context.Context, r *stored1) error {
	own := c.sumsOf(r, r.totals).withLost(r)
	for title, h := range own.histograms { // reports have their counts
		own.counters[title] = int64(h.Count())
	}
	empty := true // its load never began
	for _, n := range own.counters {
		empty = empty && n == 0
	}
	for _, flag := range []string{"", "--full", "--json"} {
		what := strings.TrimSpace("gobench show " + flag)
		b, err := c.gobench(ctx, "show", r.id, flag)
		if err != nil {
			return err
		}
		if flag == "--json" {
			got, err := resultTotals(b)
			if err != nil {
				c.fault("I13", r.id, "%s can't be read: %v", what, err)
				continue
			}
			counts, _ := (&tallied{counters: got.counters}).differ(&tallied{counters: own.counters})
			for _, text := range counts {
				c.fault("I13", r.id, "%s: %s", what, text)
			}
			c.failures(r, what, got.failed, own.failed)
			continue
		}
		known := map[string]string{} // titles, by their short form in reports
		for _, m := range r.titlesOf() {
			known[report.Title(m.Metric())] = m.Title
		}
		rows, failed := textTotals(b)
		totals := 0 // rows of counters and histograms
		for _, row := range rows {
			title, ok := known[row.name]
			want, counted := own.counters[title]
			switch {
			case strings.HasSuffix(row.name, "…"): // too long for a screen
			case !ok:
				c.fault("I13", r.id, "%s has a row of %q, which is no metric of the run", what, row.name)
			case counted:
				totals++
				if !row.is(want) {
					c.fault("I13", r.id, "%s: %q is %s, want %d", what, title, row.total, want)
				}
			}
		}
		if totals == 0 && !empty {
			c.fault("I13", r.id, "%s has no total", what)
		}
		c.failures(r, what, failed, own.failed)
	}
	return nil
}

// failures checks the number of failures in a report.
func (c *checker) failures(r *stored1, what string, got, want int64) {
	if got != want {
		c.fault("I13", r.id, "%s has %d failures, want %d", what, got, want)
	}
}

// gobench runs the program against the master, within a minute and with a new home folder,
// and returns its standard output; flag may be empty. The error of one that fails has the first
// 300 bytes that it wrote to standard error.
func (c *checker) gobench(ctx context.Context, command, id, flag string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	home, err := os.MkdirTemp("", "gobench-checker-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	args := []string{command, id, "--dir", home, "--master", c.o.API}
	if flag != "" {
		args = append(args, flag)
	}
	cmd := exec.CommandContext(ctx, c.o.Gobench, args...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GOBENCH_TOKEN=" + c.o.Token}
	var out, trouble bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &trouble
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %.300s", cmd, err, trouble.Bytes())
	}
	return out.Bytes(), nil
}

// totalRow is a row of a table of totals.
type totalRow struct{ name, total string }

// textTotals returns the rows of the tables of totals of a text report, as they are
// printed, and the number of failures in its table of errors.
func textTotals(b []byte) (rows []totalRow, failed int64) {
	table := ""
	for line := range strings.Lines(string(b)) {
		words := columns(line)
		switch {
		case len(words) == 0:
			table = ""
		case !strings.HasPrefix(line, " "):
			table = words[0]
		case len(words) < 2:
		case table == "Totals" || table == "Generator":
			rows = append(rows, totalRow{words[0], words[1]})
		case table == "Errors":
			n, _ := whole(words[len(words)-1]) // a malformed number changes the sum, which is then reported
			failed += n
		}
	}
	return rows, failed
}

// columns splits a row at two or more spaces; nil if it is blank.
func columns(line string) (all []string) {
	for word := range strings.SplitSeq(strings.TrimSpace(line), "  ") {
		if word = strings.TrimSpace(word); word != "" {
			all = append(all, word)
		}
	}
	return all
}

// is reports whether a row's total is n. Bytes are rounded to three digits.
func (r totalRow) is(n int64) bool {
	got, ok := whole(r.total)
	return ok && got == n || r.total == units.Bytes(float64(n))
}

// whole reads a number with a comma before each three digits; ok is false for other texts.
func whole(s string) (int64, bool) {
	n, err := strconv.ParseInt(strings.ReplaceAll(s, ",", ""), 10, 64)
	return n, err == nil
}
