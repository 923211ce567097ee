package http

import (
	"testing"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/run"
)

// The roles that the client declares are those that results of format 1 get by their titles.
func TestRolesOfFormat1(t *testing.T) {
	var m meters
	d := declaration("home", &m)
	for _, g := range d.group.Graphs {
		for _, declared := range g.Metrics {
			got := d.counts[declared.Title]
			want := run.Counts1(declared.Title, run.MetricType(declared.Type), d.group.Name)
			if run.Role(got.Role) != want.Role || got.Of != want.Of || got.By != want.By || got.Part != want.Part {
				t.Errorf("%s: %+v, and by its title %+v", declared.Title, got, want)
			}
		}
	}
}

// Each published role is one of gobench's, for the type that its comment names.
func TestPublishedRoles(t *testing.T) {
	for r, typ := range map[metrics.Role]metrics.Type{
		metrics.Begun: metrics.Counter, metrics.OK: metrics.Counter, metrics.Failed: metrics.Counter, metrics.Unanswered: metrics.Counter, metrics.Resent: metrics.Counter,
		metrics.Followed: metrics.Counter, metrics.Time: metrics.Histogram, metrics.Age: metrics.Histogram, metrics.Bytes: metrics.Counter, metrics.Connections: metrics.Gauge, metrics.Detail: metrics.Histogram,
	} {
		if !run.Role(r).Fits(run.MetricType(typ)) {
			t.Errorf("a %s can't have the role %q", typ, r)
		}
	}
}
