package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// Each format for people shows the hosts of a master's run: how far apart the load began,
// the state of their clocks, and which were lost.
func TestHosts(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	r := checked()
	r.Hosts = []run.Host{
		{Name: "web-1", Agent: "a1", Executors: 1, Began: began.Add(2 * time.Millisecond), Clock: -0.5, ClockError: 0.001},
		{Name: "web-2", Agent: "a2", Executors: 3, Began: began, Clock: 0.25, ClockError: 0.002, Lost: 12},
		{Name: "", Agent: "a3"},
	}
	var text, page bytes.Buffer
	if err := Text(&text, r, Screen{}); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(&page, r, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Hosts executors load began clock lost", "web-1 1 +2.00 ms -500 ms ± 1.00 ms -", "web-2 3 +0 +250 ms ± 2.00 ms after 12.0 s", "a3 0 - - -"} {
		if !strings.Contains(words(text.String()), want) {
			t.Errorf("the text has no %q:\n%s", want, text.String())
		}
	}
	if want := "| `web-2` | 3 | +0 | +250 ms ± 2.00 ms | after 12.0 s |"; !strings.Contains(page.String(), want) {
		t.Errorf("the page has no %q:\n%s", want, page.String())
	}
	want := "web-1: 1 executor, began +2.00 ms, clock -500 ms ± 1.00 ms; web-2: 3 executors, began +0, clock +250 ms ± 2.00 ms, lost after 12.0 s; a3: 0 executors"
	if got := hostsLine(r); got != want {
		t.Errorf("in a line they are %q, want %q", got, want)
	}
	r.Hosts = r.Hosts[:1]
	text.Reset()
	if err := Text(&text, r, Screen{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "lost\n") {
		t.Errorf("nobody was lost:\n%s", text.String())
	}
}

// words returns text with one space between words.
func words(s string) string { return strings.Join(strings.Fields(s), " ") }
