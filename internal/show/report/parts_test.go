package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/run"
)

// Names have a table of their own: those of which most failed first. Their metrics are in the
// other tables of a full report only.
func TestParts(t *testing.T) {
	t.Parallel()
	r := &run.Result{State: run.Finished, Seconds: 10, Measured: 10}
	add := func(role run.Role, by, part string, n int64) {
		m := run.Metric{Title: fmt.Sprintf("home.%s.%s.%s", by, part, role), Type: run.Counter, Counts: run.Counts{Role: role, Of: "home", By: by, Part: part}}
		rate := float64(n) / 10
		m.Count, m.RPS = &n, &rate
		if role == run.OpTime {
			m.Type, m.Unit, m.RPS, m.Times = run.Histogram, "ns", nil, &run.Times{P50: 1, P95: 2, P99: 3, Max: 4}
		}
		r.Metrics = append(r.Metrics, m)
	}
	add(run.OpFailed, "status", "500", 7)
	for i := range 14 {
		name := fmt.Sprintf("/%02d", i)
		add(run.OpOK, "url", name, 90)
		add(run.OpFailed, "url", name, int64(i%13/12*7))
		add(run.OpUnanswered, "url", name, int64(i%13/12*3))
		add(run.OpTime, "url", name, 90)
	}
	var b strings.Builder
	if err := Text(&b, r, Screen{Style: Style{Width: 100}}); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	table := got[strings.Index(got, "home by url"):]
	lines := strings.Split(table, "\n")
	for i, want := range []string{"home by url total failed rate p50 p95 p99 max", "/12 100 10 10.0/s 1.00 ms 2.00 ms - 4.00 ms", "/00 90 0 9.00/s 1.00 ms 2.00 ms - 4.00 ms"} {
		if line := strings.Join(strings.Fields(lines[i]), " "); line != want {
			t.Errorf("line %d is %q, want %q", i, line, want)
		}
	}
	if strings.Contains(got, "/11") || strings.Contains(got, "home.url") {
		t.Errorf("it shows more than 12 names, or their metrics:\n%s", got)
	}
	b.Reset()
	if err := Text(&b, r, Screen{Style: Style{Width: 100}, Full: true}); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.Contains(got, "\n  /13 ") || !strings.Contains(got, "home.url./13.op.ok") {
		t.Errorf("the full report lacks names, or their metrics:\n%s", got)
	}
}
