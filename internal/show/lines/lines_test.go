package lines

import (
	"io"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
)

func TestText(t *testing.T) {
	t.Parallel()
	totals := func() event.Totals { return event.Totals{} }
	for _, tt := range []struct {
		quiet bool
		want  string
	}{
		{false, "a note\ncompiling x\nprinted \\x1b[2J\nstopping\nthe end\n"},
		{true, "stopping\n"},
	} {
		var b strings.Builder
		v := NewText(&b, tt.quiet)
		v.Show(event.Event{Kind: event.Note, Text: "a note"})
		v.Show(event.Event{Kind: event.Step, State: run.Compiling, Text: "compiling x"})
		v.Show(event.Event{Kind: event.Step, Text: "a step that is short"})
		v.Show(event.Event{Kind: event.State, State: run.Running})
		if _, err := io.WriteString(v.Output(), "printed \x1b[2J\r\nthe end"); err != nil {
			t.Error(err)
		}
		v.Show(event.Event{Kind: event.Ending, Text: "stopping"})
		v.Close(event.Event{Kind: event.Ended})
		v.Close(event.Event{Kind: event.Ended})
		v.Show(event.Event{Kind: event.Note, Text: "too late"})
		if b.String() != tt.want {
			t.Errorf("quiet %v: %q, want %q", tt.quiet, b.String(), tt.want)
		}
	}
	// Of several intervals in a second one is shown.
	var b strings.Builder
	v := NewText(&b, false)
	for i := range 20 {
		v.Show(event.Event{Kind: event.Interval, Interval: &run.Interval{From: float64(i) / 10, Seconds: 0.1}, Totals: totals})
	}
	v.Flush()
	if n := strings.Count(b.String(), "\n"); n != 2 {
		t.Errorf("%d lines of 2 s: %q", n, b.String())
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	v := NewJSON(&b)
	v.Show(event.Event{Kind: event.Note, Text: "<a>"})
	v.Show(event.Event{Kind: event.Step, Detail: "a package"})
	v.Flush()
	v.Close(event.Event{Kind: event.Ended, State: run.Finished})
	v.Close(event.Event{Kind: event.Ended})
	if lines := strings.Split(strings.TrimSpace(b.String()), "\n"); len(lines) != 2 || !strings.Contains(lines[0], `"text":"<a>"`) || !strings.Contains(lines[1], `"event":"end"`) {
		t.Errorf("%q", lines)
	}
}

// stuck is a reader that reads nothing until it is closed.
type stuck chan struct{}

func (s stuck) Write(b []byte) (int, error) { <-s; return len(b), nil }

// A reader that does not read delays no one, and what it misses is counted.
func TestQueueDrops(t *testing.T) {
	t.Parallel()
	w := make(stuck)
	q := newQueue(w)
	for range 1000 {
		q.put([]byte("12345"))
	}
	close(w)
	if dropped := q.close(); dropped < 5*(1000-258) || dropped > 5*(1000-256) {
		t.Errorf("%d bytes were dropped", dropped)
	}
	var b strings.Builder
	ReportDropped(&b, 0)
	ReportDropped(&b, 2048)
	if !strings.HasPrefix(b.String(), "[2.00 KiB of output not shown") && !strings.HasPrefix(b.String(), "[2 KiB of output not shown") {
		t.Errorf("%q", b.String())
	}
}
