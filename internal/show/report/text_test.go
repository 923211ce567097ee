package report

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/roles"
)

// A page of text fits the screen that it is for.
func TestTextFitsTheScreen(t *testing.T) {
	many := checked()
	for i := range 50 {
		title := fmt.Sprintf("shop.%d", i)
		many.Metrics = append(many.Metrics,
			run.Metric{Title: title + ".done", Type: "counter", Group: title, Unit: "N", Record: run.Record{Count: p(int64(i + 1)), RPS: p(1.0)}},
			run.Metric{Title: title + ".took", Type: "histogram", Group: title, Unit: "ns", Record: run.Record{Count: p(int64(i + 1)), RPS: p(1.0), Times: &run.Times{P50: 1}}})
		many.Metrics = append(many.Metrics, roles.Metric(run.Metric{Title: fmt.Sprintf("check.%d.passed", i), Type: "counter", Group: "Checks", Record: run.Record{Count: p(int64(1)), RPS: p(1.0)}}))
		many.Config.Classes = append(many.Config.Classes, run.Class{Name: title, Users: 1, Load: "once a user"})
		many.Errors = append(many.Errors, run.Failure{Source: title, Class: "timeout", Text: strings.Repeat("no answer ", 30), Count: 1})
		many.Notes = append(many.Notes, strings.Repeat("note ", 10))
	}
	for _, tt := range []struct {
		name          string
		r             *run.Result
		screen        Screen
		width, height int
	}{
		{"80", full(), Screen{Style: Style{Width: 80}}, 80, 54},
		{"120 with checks", checked(), Screen{Style: Style{Width: 120}}, 120, 56},
		{"wide", full(), Screen{Style: Style{Width: 200}}, 200, 50},
		{"narrow", checked(), Screen{Style: Style{Width: 50}}, 50, 96},
		{"too many of everything", many, Screen{Style: Style{Width: 120}}, 120, 80},
	} {
		var b bytes.Buffer
		if err := Text(&b, tt.r, tt.screen); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if len(lines) > tt.height {
			t.Errorf("%s: %d lines, want at most %d:\n%s", tt.name, len(lines), tt.height, b.String())
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > tt.width {
				t.Errorf("%s: a line of %d: %q", tt.name, utf8.RuneCountInString(line), line)
			}
		}
	}
}

// Looks add nothing to the words: without its sequences a page in colour equals the page
// without colour.
func TestTextInColour(t *testing.T) {
	var plain, coloured bytes.Buffer
	r := checked()
	for w, s := range map[*bytes.Buffer]Screen{&plain: {Style: Style{Width: 80}, Full: true, Dir: "/runs/x"}, &coloured: {Style: Style{Width: 80, Color: true}, Full: true, Dir: "/runs/x"}} {
		if err := Text(w, r, s); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "full-80.golden", plain.Bytes())
	golden(t, "full-80-colour.golden", coloured.Bytes())
	if got := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAll(coloured.Bytes(), nil); !bytes.Equal(got, plain.Bytes()) {
		t.Errorf("without its looks:\n%s", got)
	}
	for _, want := range []string{"\x1b[33mSUSPECT\x1b[0m:", "\x1b[31mCROSSED\x1b[0m", "\x1b[32mok\x1b[0m", "\x1b[1mThresholds"} {
		if !strings.Contains(coloured.String(), want) {
			t.Errorf("there is no %q", want)
		}
	}
}

// Of many rows those of failures stay, and bytes and connections go first.
func TestWeightiest(t *testing.T) {
	row := func(title string, r run.Role) run.Metric {
		return run.Metric{Title: title, Counts: run.Counts{Role: r}}
	}
	all := []run.Metric{row("ok", run.OpOK), row("bytes", run.Bytes), row("conns", run.Connections), row("own", run.Other), row("500", run.OpFailed), row("last", run.Other), row("none", run.OpUnanswered)}
	for n, want := range []string{"", "500", "500 none", "ok 500 none", "ok own 500 none", "ok own 500 last none", "ok bytes own 500 last none", "ok bytes conns own 500 last none"} {
		var got []string
		for _, m := range weightiest(all, n) {
			got = append(got, m.Title)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
