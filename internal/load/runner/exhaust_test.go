package runner

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/wire"
)

// The data of a class ends: each of its users that finds no row ends, its iteration is not
// counted, and the class is over whatever its load defines.
func TestDataEndsAClass(t *testing.T) {
	const rows = 100
	for _, tt := range []struct {
		name string
		load scenario.Load
	}{
		{"loop", scenario.Loop(time.Hour)},
		{"times", scenario.Times(1000)},
		{"shared", scenario.Shared(100_000)},
		{"ramp", scenario.Ramp{{To: 2, Over: 0}, {To: 2, Over: time.Hour}, {To: 10, Over: 0}, {To: 10, Over: time.Hour}}},
		{"arrival", scenario.Arrival{Stages: at(50, time.Hour)}},
		{"arrival that drops", scenario.Arrival{Stages: at(500, time.Hour), Drop: true}},
		{"arrival with rare starts", scenario.Arrival{Stages: []scenario.Rate{{To: 100}, {To: 100, Over: 2 * time.Second}, {To: 0.001}, {To: 0.001, Over: time.Hour}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var taken atomic.Int64
				vus := scenario.Vus{{Name: "f", Nu: 10, Load: tt.load, Start: func(context.Context, int) (scenario.User, error) {
					return scenario.Iterate(func(ctx context.Context) error {
						if taken.Add(1) > rows {
							meter.ScopeOf(ctx).Exhaust("the file has no more rows")
							return errors.New("no row is left")
						}
						time.Sleep(10 * time.Millisecond)
						return nil
					}), nil
				}}}
				o := play(t, t.Context(), vus, &wire.Start{}, nil)
				if o.counts["f.iterations"] != rows || o.counts["f.errors"] != 0 || len(o.failures) != 0 || o.counts["f.cut"] != 0 {
					t.Errorf("counts %v, failures %v, want %d iterations", o.counts, o.failures, rows)
				}
				if o.counts["f.active"] != 0 || o.counts["f.started"] != o.counts["f.finished"] {
					t.Errorf("counts %v", o.counts)
				}
				if begun := rows + o.counts["f.void"]; o.counts["f.begun"] != begun || o.counts["f.void"] == 0 {
					t.Errorf("%d begun, %d without data", o.counts["f.begun"], o.counts["f.void"])
				}
				if _, open := tt.load.(scenario.Arrival); open && o.counts["f.planned"] != o.counts["f.begun"]+o.counts["f.dropped"]+o.counts["f.unserved"] {
					t.Errorf("%v", o.counts)
				}
				if o.took > 3*time.Second {
					t.Errorf("it took %v", o.took)
				}
				if len(o.notes) != 1 {
					t.Errorf("notes %q, want one", o.notes)
				}
			})
		})
	}
}
