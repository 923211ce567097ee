package http

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/conn"
)

// family is what all clients of a prefix have in common.
type family struct {
	prefix string
	meters meters
	last   atomic.Pointer[template] // the template made last

	mu      sync.Mutex                         // for writing
	targets atomic.Pointer[map[string]*target] // by origin; copied on write
}

// maxTargets bounds the targets that are remembered. More are parsed at each use.
const maxTargets = 1000

// meters are the metrics of a prefix.
type meters struct {
	ok, fail, otherFail executor.Meter
	latency             executor.Meter
	bytesIn, bytesOut   executor.Meter
	opened, open        executor.Meter
	errors              [conn.Classes]executor.Meter // by class
}

// familyKey is the key of a prefix's family among what a run's users share.
type familyKey string

func familyOf(r *executor.Recorder, prefix string) (*family, error) {
	v, err := r.Shared(familyKey(prefix), func() (any, error) { return newFamily(r, prefix) })
	if err != nil {
		return nil, err
	}
	return v.(*family), nil
}

// newFamily declares the metrics of a prefix.
func newFamily(r *executor.Recorder, prefix string) (*family, error) {
	f := &family{prefix: strings.Clone(prefix)}
	f.targets.Store(&map[string]*target{})
	group := metrics.Group{Name: "HTTP (" + prefix + ")"}
	var found []func() error
	graph := func(title, unit string) {
		group.Graphs = append(group.Graphs, metrics.Graph{Title: title, Unit: unit})
	}
	metric := func(m *executor.Meter, t metrics.Type, name string) {
		g := &group.Graphs[len(group.Graphs)-1]
		title := prefix + "." + name
		g.Metrics = append(g.Metrics, metrics.Metric{Title: title, Type: t})
		found = append(found, func() (err error) {
			*m, err = r.Find(title)
			return err
		})
	}
	graph("Responses", "N")
	metric(&f.meters.ok, metrics.Counter, "http_ok")
	metric(&f.meters.fail, metrics.Counter, "http_fail")
	metric(&f.meters.otherFail, metrics.Counter, "http_other_fail")
	graph("Latency", "ns")
	metric(&f.meters.latency, metrics.Histogram, "latency")
	graph("Traffic", "B")
	metric(&f.meters.bytesIn, metrics.Counter, "bytes_in")
	metric(&f.meters.bytesOut, metrics.Counter, "bytes_out")
	graph("Connections", "N")
	metric(&f.meters.opened, metrics.Counter, "connections_opened")
	metric(&f.meters.open, metrics.Gauge, "connections_open")
	graph("Errors", "N")
	for class := range conn.Classes {
		metric(&f.meters.errors[class], metrics.Counter, "error."+conn.Class(class).String())
	}
	if err := r.Setup([]metrics.Group{group}); err != nil {
		return nil, err
	}
	for _, find := range found {
		if err := find(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// target gives the target of an origin.
func (f *family) target(origin string) (*target, error) {
	if t := (*f.targets.Load())[origin]; t != nil {
		return t, nil
	}
	t, err := parseOrigin(origin)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	known := *f.targets.Load()
	if other := known[origin]; other != nil {
		return other, nil
	}
	if len(known) < maxTargets {
		known = maps.Clone(known)
		known[t.origin] = t
		f.targets.Store(&known)
	}
	return t, nil
}
