package runner

import (
	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/meter"
)

// counts are a class's own metrics, which every class has whatever its clients do.
type counts struct {
	active   meter.Meter // gauge: users whose work is going on
	started  meter.Meter
	finished meter.Meter
	panics   meter.Meter

	// Those of a class that has iterations:
	iterations meter.Meter
	errors     meter.Meter
	cut        meter.Meter // iterations that the run's end left without a result
	service    meter.Meter // histogram: from the start to the end of an iteration without error, ns
}

// Prefix begins the titles of all classes' own metrics: "vu.CLASS.".
const Prefix = "vu."

func newCounts(r *meter.Registry, class string, iterates bool) (*counts, error) {
	p := Prefix + class + "."
	g := metrics.Group{Name: "Users (" + class + ")", Graphs: []metrics.Graph{
		{Title: "Users", Unit: "N", Metrics: []metrics.Metric{
			{Title: p + "active", Type: metrics.Gauge},
			{Title: p + "started", Type: metrics.Counter},
			{Title: p + "finished", Type: metrics.Counter},
			{Title: p + "panics", Type: metrics.Counter},
		}}}}
	if iterates {
		g.Graphs = append(g.Graphs,
			metrics.Graph{Title: "Iterations", Unit: "N", Metrics: []metrics.Metric{
				{Title: p + "iterations", Type: metrics.Counter},
				{Title: p + "errors", Type: metrics.Counter},
				{Title: p + "cut", Type: metrics.Counter},
			}},
			metrics.Graph{Title: "Service time", Unit: "ns", Metrics: []metrics.Metric{{Title: p + "service", Type: metrics.Histogram}}})
	}
	if err := r.Setup([]metrics.Group{g}); err != nil {
		return nil, err
	}
	c := new(counts)
	for name, m := range map[string]*meter.Meter{
		"active": &c.active, "started": &c.started, "finished": &c.finished, "panics": &c.panics,
		"iterations": &c.iterations, "errors": &c.errors, "cut": &c.cut, "service": &c.service,
	} {
		var err error
		if *m, err = r.Find(p + name); err != nil && iterates {
			return nil, err
		}
	}
	return c, nil
}
