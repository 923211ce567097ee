package runner

import (
	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/run"
)

// counts are the metrics that every class has, whatever its clients record.
type counts struct {
	active   meter.Meter // gauge: users that have not finished
	started  meter.Meter
	finished meter.Meter
	panics   meter.Meter
	slowed   meter.Meter // of a class without a schedule: waits of users whose calls fail before the network
	lag      meter.Meter // histogram: from a planned start (of a user, an iteration) to its begin, or until it was detected that no user is free for it, ns
	behind   meter.Meter // gauge, of a class whose starts have a schedule: starts that are due but not made yet, because gobench is late; they have no lag yet

	// Of a class with iterations:
	begun      meter.Meter // iterations that began: done, cut, void, or lost with this process
	iterations meter.Meter // done, failed ones included
	errors     meter.Meter
	cut        meter.Meter // iterations that the end of the run cut short, without a result
	lost       meter.Meter // iterations that had not ended when this process did: counted where its batches are merged, never here
	unprepared meter.Meter // iterations that did not begin, as Prepare failed
	void       meter.Meter // iterations that found no data left, so that the load ended
	age        meter.Meter // histogram: from the planned start until an iteration was cut or stayed unserved, ns
	response   meter.Meter // histogram: from an iteration's planned start to its end without error, ns
	service    meter.Meter // histogram: from its begin, ns
	failure    meter.Meter // histogram: from its begin to its end with an error, ns

	// Of an Arrival:
	planned  meter.Meter // starts that were due: begun, dropped or unserved
	late     meter.Meter // number of begun starts that found no user free and waited
	dropped  meter.Meter // number of planned starts that were given up, as no user was free
	unserved meter.Meter // number of planned starts that still waited when the load ended
	wait     meter.Meter // histogram: the wait of those that waited and began, ns

	tasks []meter.Meter // histograms: the service time of each of Tasks, ns
}

// prefix is the prefix of the titles of all classes' own metrics: "vu.CLASS.".
const prefix = "vu."

// newCounts declares the metrics of a class and returns their meters. Which ones depends on
// its kind; the other meters are zero and must not be used. The error is that of Declare or
// Find.
func newCounts(r *meter.Registry, class string, vu scenario.Vu) (*counts, error) {
	c := new(counts)
	d := declaration{class: class, group: metrics.Group{Name: "Users (" + class + ")"}, counts: map[string]run.Counts{}, meters: map[string]*meter.Meter{}}
	d.graph("Active users", "N", metrics.Gauge, one{"active", run.ClassActive, &c.active})
	d.graph("Users", "N", metrics.Counter, one{"started", run.ClassStarted, &c.started}, one{"finished", run.ClassFinished, &c.finished}, one{"panics", run.ClassPanics, &c.panics})
	switch {
	case open(vu):
		d.graph("Planned starts", "N", metrics.Counter, one{"planned", run.ClassPlanned, &c.planned}, one{"late", run.ClassLate, &c.late},
			one{"dropped", run.ClassDropped, &c.dropped}, one{"unserved", run.ClassUnserved, &c.unserved})
		d.graph("Starts behind plan", "N", metrics.Gauge, one{"behind", run.ClassBehind, &c.behind})
		d.graph("Queue wait", "ns", metrics.Histogram, one{"queue_wait", run.ClassWait, &c.wait})
	case vu.Rate > 0:
		d.graph("Users behind plan", "N", metrics.Gauge, one{"users_behind", run.ClassUsersBehind, &c.behind})
	}
	if !open(vu) {
		d.graph("Slowed users", "N", metrics.Counter, one{"slowed", run.ClassSlowed, &c.slowed})
	}
	if !once(vu) {
		d.graph("Iterations begun", "N", metrics.Counter, one{"begun", run.ClassBegun, &c.begun})
		d.graph("Iterations", "N", metrics.Counter, one{"iterations", run.ClassDone, &c.iterations}, one{"errors", run.ClassFailed, &c.errors}, one{"cut", run.ClassCut, &c.cut}, one{"lost", run.ClassLost, &c.lost}, one{"void", run.ClassVoid, &c.void})
		d.graph("Iterations not prepared", "N", metrics.Counter, one{"unprepared", run.ClassUnprepared, &c.unprepared})
		d.graph("Iteration time", "ns", metrics.Histogram, one{"response", run.ClassResponse, &c.response}, one{"service", run.ClassService, &c.service}, one{"failure", run.ClassFailure, &c.failure}, one{"age", run.ClassAge, &c.age})
	}
	tasks := taskNames(vu.Tasks)
	c.tasks = make([]meter.Meter, len(tasks))
	for i, name := range tasks {
		title := "task." + name
		d.graph("Task "+name, "ns", metrics.Histogram, one{title, run.ClassTask, &c.tasks[i]})
		d.counts[d.title(title)] = run.Counts{Role: run.ClassTask, Of: class, By: "task", Part: name}
	}
	d.graph("Start lag", "ns", metrics.Histogram, one{"start_lag", run.ClassLag, &c.lag})
	if err := r.Declare([]metrics.Group{d.group}, d.counts); err != nil {
		return nil, err
	}
	for _, s := range vu.Steps {
		if err := r.DeclareStep(s.Name); err != nil {
			return nil, err
		}
	}
	for title, m := range d.meters {
		var err error
		if *m, err = r.Find(title); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// declaration is the metrics of a class before they are declared.
type declaration struct {
	class  string
	group  metrics.Group
	counts map[string]run.Counts   // by title
	meters map[string]*meter.Meter // where they belong, by title
}

// one is a metric of a class.
type one struct {
	name  string // the end of its title
	role  run.Role
	meter *meter.Meter
}

// title returns the title of the class's metric of that name.
func (d *declaration) title(name string) string { return prefix + d.class + "." + name }

// graph adds a graph of metrics of one type, each of the whole class.
func (d *declaration) graph(title, unit string, t metrics.Type, all ...one) {
	g := metrics.Graph{Title: title, Unit: unit}
	for _, m := range all {
		title := d.title(m.name)
		g.Metrics = append(g.Metrics, metrics.Metric{Title: title, Type: t})
		d.counts[title], d.meters[title] = run.Counts{Role: m.role, Of: d.class}, m.meter
	}
	d.group.Graphs = append(d.group.Graphs, g)
}

// once reports whether users have no iterations: their work is one call of Fu.
func once(vu scenario.Vu) bool { return vu.Fu != nil && vu.Load == nil }

// paced reports whether a class's users or iterations start on a schedule, so that behind is
// declared.
func paced(vu scenario.Vu) bool { return open(vu) || vu.Rate > 0 }

// open reports whether a class's iterations start on a schedule.
func open(vu scenario.Vu) bool {
	_, open := vu.Load.(scenario.Arrival)
	return open
}
