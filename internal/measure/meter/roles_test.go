package meter

import (
	"strings"
	"testing"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/run"
)

// A role is declared with its metric's first declaration, and has to fit it.
func TestDeclareRoles(t *testing.T) {
	t.Parallel()
	group := func(typ metrics.Type, unit string) []metrics.Group {
		return []metrics.Group{{Name: "g", Graphs: []metrics.Graph{{Title: "h", Unit: unit, Metrics: []metrics.Metric{{Title: "a", Type: typ}}}}}}
	}
	ok := run.Counts{Role: run.OpOK, Of: "home"}
	for name, tt := range map[string]struct {
		typ    metrics.Type
		unit   string
		counts map[string]run.Counts
		wrong  string
	}{
		"fits":         {metrics.Counter, "N", map[string]run.Counts{"a": ok}, ""},
		"another type": {metrics.Gauge, "N", map[string]run.Counts{"a": ok}, "cannot have the role"},
		"unknown":      {metrics.Counter, "N", map[string]run.Counts{"a": {Role: "op.odd", Of: "home"}}, "cannot have the role"},
		"of nothing":   {metrics.Counter, "N", map[string]run.Counts{"a": {Role: run.OpOK}}, "not of what"},
		"not ns":       {metrics.Histogram, "ms", map[string]run.Counts{"a": ok.As(run.OpTime)}, "want ns"},
		"not declared": {metrics.Counter, "N", map[string]run.Counts{"b": ok}, "is not declared"},
	} {
		r := New()
		err := r.Declare(group(tt.typ, tt.unit), tt.counts)
		if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %v", name, err)
		}
		if n := len(r.Cut(Measured).Declared); (n == 0) != (tt.wrong != "") {
			t.Errorf("%s: %d are declared", name, n)
		}
	}
	r := New()
	if err := r.Declare(group(metrics.Counter, "N"), map[string]run.Counts{"a": ok}); err != nil {
		t.Fatal(err)
	}
	if err := r.Setup(group(metrics.Counter, "N")); err != nil {
		t.Errorf("declared again without its role: %v", err)
	}
	if err := r.Declare(group(metrics.Counter, "N"), map[string]run.Counts{"a": ok.As(run.OpFailed)}); err == nil || !strings.Contains(err.Error(), "declared twice") {
		t.Errorf("declared again with another role: %v", err)
	}
	if got := r.Cut(Measured).Declared[0].Counts; got != ok {
		t.Errorf("it counts %+v", got)
	}
}
