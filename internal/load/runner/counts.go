package runner

import (
	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/measure/meter"
)

// counts are the metrics that every class has, whatever its clients record.
type counts struct {
	active   meter.Meter // gauge: users that have not finished
	started  meter.Meter
	finished meter.Meter
	panics   meter.Meter
	lag      meter.Meter // histogram: from a planned start (of a user, an iteration) to its begin, or until it was detected that no user is free for it, ns
	behind   meter.Meter // gauge, of a class whose starts have a schedule: starts that are due but not made yet, because gobench is late; they have no lag yet

	// Of a class with iterations:
	iterations meter.Meter
	errors     meter.Meter
	cut        meter.Meter // iterations that the end of the run cut short, without a result
	response   meter.Meter // histogram: from an iteration's planned start to its end without error, ns
	service    meter.Meter // histogram: from its begin, ns
	failure    meter.Meter // histogram: from its begin to its end with an error, ns

	// Of an Arrival:
	planned meter.Meter // starts that were due
	begun   meter.Meter // number of these that began
	late    meter.Meter // number of begun starts that found no user free and waited
	dropped meter.Meter // number of planned starts that were dropped
	wait    meter.Meter // histogram: the wait of those that waited, ns

	tasks []meter.Meter // histograms: the service time of each of Tasks, ns
}

// prefix is the prefix of the titles of all classes' own metrics: "vu.CLASS.".
const prefix = "vu."

// newCounts declares the metrics of a class and returns their meters. Which ones depends on
// its kind; the other meters are zero and must not be used. The error is that of Setup or
// Find.
func newCounts(r *meter.Registry, class string, vu scenario.Vu) (*counts, error) {
	c := new(counts)
	meters := map[string]*meter.Meter{}
	graph := func(title, unit string, kind metrics.Type, names ...string) metrics.Graph {
		g := metrics.Graph{Title: title, Unit: unit}
		for _, name := range names {
			g.Metrics = append(g.Metrics, metrics.Metric{Title: prefix + class + "." + name, Type: kind})
			meters[name] = map[string]*meter.Meter{
				"active": &c.active, "started": &c.started, "finished": &c.finished, "panics": &c.panics, "start_lag": &c.lag,
				"iterations": &c.iterations, "errors": &c.errors, "cut": &c.cut, "response": &c.response, "service": &c.service, "failure": &c.failure,
				"planned": &c.planned, "begun": &c.begun, "late": &c.late, "behind": &c.behind, "users_behind": &c.behind, "dropped": &c.dropped, "queue_wait": &c.wait,
			}[name]
		}
		return g
	}
	g := metrics.Group{Name: "Users (" + class + ")", Graphs: []metrics.Graph{
		graph("Active users", "N", metrics.Gauge, "active"),
		graph("Users", "N", metrics.Counter, "started", "finished", "panics"),
	}}
	switch _, open := vu.Load.(scenario.Arrival); {
	case open:
		g.Graphs = append(g.Graphs,
			graph("Planned starts", "N", metrics.Counter, "planned", "begun", "late", "dropped"),
			graph("Starts behind plan", "N", metrics.Gauge, "behind"),
			graph("Queue wait", "ns", metrics.Histogram, "queue_wait"))
	case vu.Rate > 0:
		g.Graphs = append(g.Graphs, graph("Users behind plan", "N", metrics.Gauge, "users_behind"))
	}
	if !once(vu) {
		g.Graphs = append(g.Graphs,
			graph("Iterations", "N", metrics.Counter, "iterations", "errors", "cut"),
			graph("Iteration time", "ns", metrics.Histogram, "response", "service", "failure"))
	}
	for _, name := range taskNames(vu.Tasks) {
		g.Graphs = append(g.Graphs, graph("Task "+name, "ns", metrics.Histogram, "task."+name))
	}
	g.Graphs = append(g.Graphs, graph("Start lag", "ns", metrics.Histogram, "start_lag"))
	if err := r.Setup([]metrics.Group{g}); err != nil {
		return nil, err
	}
	for _, name := range taskNames(vu.Tasks) {
		m, err := r.Find(prefix + class + ".task." + name)
		if err != nil {
			return nil, err
		}
		c.tasks = append(c.tasks, m)
		delete(meters, "task."+name)
	}
	for name, m := range meters {
		var err error
		if *m, err = r.Find(prefix + class + "." + name); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// once reports whether users have no iterations: their work is one call of Fu.
func once(vu scenario.Vu) bool { return vu.Fu != nil && vu.Load == nil }

// paced reports whether a class's users or iterations start on a schedule, so that behind is
// declared.
func paced(vu scenario.Vu) bool {
	_, open := vu.Load.(scenario.Arrival)
	return open || vu.Rate > 0
}
