package lines

import (
	"io"
	"strings"
	"sync"
	"testing"
	"time"

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

// hold holds writes back until it is opened.
type hold struct {
	open chan struct{}
	strings.Builder
}

func (h *hold) Write(b []byte) (int, error) { <-h.open; return h.Builder.Write(b) }

// A slow reader of JSON loses lines, but never the end, and a line reports the loss.
func TestJSONEnd(t *testing.T) {
	t.Parallel()
	w := &hold{open: make(chan struct{})}
	v := NewJSON(w)
	for range 1000 {
		v.Show(event.Event{Kind: event.Note, Text: "a note"})
	}
	time.AfterFunc(10*time.Millisecond, func() { close(w.open) })
	v.Close(event.Event{Kind: event.Ended, State: run.Finished})
	all := strings.Split(strings.TrimSpace(w.String()), "\n")
	if last := all[len(all)-1]; !strings.Contains(last, `"event":"end"`) {
		t.Errorf("the last line is %s", last)
	}
	if loss := all[len(all)-2]; !strings.Contains(loss, `"event":"warning"`) || !strings.Contains(loss, "of events are missing") {
		t.Errorf("the line before is %s", loss)
	}
}

// Intervals may be shown concurrently; of a second one is shown.
func TestTextConcurrent(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	v := NewText(&b, false)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			v.Show(event.Event{Kind: event.Interval, Interval: &run.Interval{From: 4, Seconds: 1}, Totals: func() event.Totals { return event.Totals{} }})
		})
	}
	all.Wait()
	v.Flush()
	if n := strings.Count(b.String(), "\n"); n != 1 {
		t.Errorf("%d lines of one interval: %q", n, b.String())
	}
}

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
