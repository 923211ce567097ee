package executor

import (
	"sync/atomic"

	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/run"
)

// registryNames holds the names of one registry that are declared on first use.
type registryNames struct {
	checks     meter.Named[checkMeters]
	results    meter.Named[resultMeters]
	operations meter.Named[*Operations]
	sequence   atomic.Int64 // numbers that Seq has taken
}

type namesKey struct{}

// names returns the names of r's registry, the same for all recorders of one registry.
func (r *Recorder) names() *registryNames {
	v, _ := r.Shared(namesKey{}, func() (any, error) { return new(registryNames), nil }) // it never fails
	return v.(*registryNames)
}

// metric is a metric of a graph: its title, what it counts, and where its meter belongs.
func metric(title string, counts run.Counts, m *meter.Meter) meter.One {
	return meter.One{Title: title, Counts: counts, Meter: m}
}
