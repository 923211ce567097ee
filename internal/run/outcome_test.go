package run

import (
	"slices"
	"testing"
)

// Each operation is counted once, however many parts count it again; causes and the worst name
// come from the parts.
func TestOutcomeCountsOnce(t *testing.T) {
	t.Parallel()
	counter := func(n int64, c Counts) Metric {
		return Metric{Type: Counter, Counts: c, Record: Record{Count: &n}}
	}
	part := func(r Role, by, name string) Counts { return Counts{Role: r, Of: "shop", By: by, Part: name} }
	r := Result{Metrics: []Metric{
		counter(100, part(OpBegun, "", "")), counter(70, part(OpOK, "", "")), counter(20, part(OpFailed, "", "")), counter(10, part(OpUnanswered, "", "")),
		counter(70, part(OpOK, "status", "200")), counter(5, part(OpFailed, "status", "404")), counter(15, part(OpFailed, "status", "500")), counter(10, part(OpUnanswered, "error", "timeout")),
		counter(50, part(OpOK, "url", "list")), counter(5, part(OpFailed, "url", "list")), counter(20, part(OpOK, "url", "order")), counter(15, part(OpFailed, "url", "order")), counter(10, part(OpUnanswered, "url", "order")),
		counter(0, part(OpFailed, "url", "never")),
	}}
	o := r.Outcome()
	if want := (Ended{100, 70, 20, 10}); o.Main() != want {
		t.Errorf("%+v, want %+v", o.Main(), want)
	}
	if want := []Cause{{"shop", "status", "500", 15}, {"shop", "error", "timeout", 10}, {"shop", "status", "404", 5}}; !slices.Equal(o.Causes, want) {
		t.Errorf("causes %v, want %v", o.Causes, want)
	}
	if want := (Named{"shop", "url", "order", Ended{0, 20, 15, 10}}); o.Worst == nil || *o.Worst != want {
		t.Errorf("the worst is %+v, want %+v", o.Worst, want)
	}
	if o := OutcomeOf(r.Metrics, func(Metric) int64 { return 0 }); o.Worst != nil || o.Causes != nil {
		t.Errorf("nothing failed: %+v", o)
	}
}
