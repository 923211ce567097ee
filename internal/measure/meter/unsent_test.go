package meter

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobench-io/gobench/executor/metrics"
)

func TestUnsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New()
		title := "vu.a.slowed"
		if err := r.Declare([]metrics.Group{{Name: "a", Graphs: []metrics.Graph{{Title: "Slowed", Unit: "N", Metrics: []metrics.Metric{{Title: title, Type: metrics.Counter}}}}}}, nil); err != nil {
			t.Fatal(err)
		}
		slowed, err := r.Find(title)
		if err != nil {
			t.Fatal(err)
		}
		ctx, scope := With(t.Context(), r, nil, [2]uint64{})
		took := func(calls int) time.Duration {
			began := time.Now()
			for range calls {
				scope.Unsent(ctx)
			}
			return time.Since(began)
		}
		if d := took(1000); d != 0 {
			t.Errorf("a user of a schedule was slowed by %v", d)
		}
		scope.Sent()
		scope.Slowed = &slowed
		for _, x := range []struct {
			calls int
			want  time.Duration
		}{{100, 0}, {1, time.Millisecond}, {1, 2 * time.Millisecond}, {8, 1020 * time.Millisecond}, {3, 3 * time.Second}} {
			if d := took(x.calls); d != x.want {
				t.Errorf("%d calls were slowed by %v, want %v", x.calls, d, x.want)
			}
		}
		scope.Sent()
		if d := took(100); d != 0 {
			t.Errorf("after one that was sent a hundred were slowed by %v", d)
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		began := time.Now()
		for range 20 {
			scope.Unsent(ended)
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("calls after the end of the run were slowed by %v", d)
		}
	})
}
