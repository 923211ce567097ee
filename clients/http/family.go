package http

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/load/conn"
)

// family holds what all clients of a prefix share.
type family struct {
	prefix string
	meters meters
	plain  *settings // of clients without options

	mu      sync.Mutex                         // held by writers
	targets atomic.Pointer[map[string]*target] // by origin; copied on write
	given   atomic.Pointer[[]given]            // settings by options; copied on write
	peers   atomic.Pointer[map[string]*peer]   // by address; copied on write
	names   atomic.Pointer[map[string]*named]  // by Request.Name; copied on write
	codes   codes
	hops    atomic.Pointer[hops] // of clients that may send several requests for an operation
}

// maxTargets limits the number of cached targets. Others are parsed at each use.
const maxTargets = 1000

// meters are the metrics of a prefix.
type meters struct {
	ok, fail, otherFail executor.Meter
	latency, ttfb       executor.Meter
	classes             [5]executor.Meter // of statuses: 2xx, 3xx, 4xx, 5xx, other
	reused              executor.Meter
	bytesIn, bytesOut   executor.Meter
	opened, open        executor.Meter
	connect, lookup     executor.Meter
	tls                 executor.Meter
	handshakes, resumed executor.Meter
	recovery            executor.Meter
	errors              [conn.Classes]executor.Meter // by error class
}

// familyKey is the key of a prefix's family in a run's shared values.
type familyKey string

// familyOf returns the family of a prefix in r's run, and creates it at the first call. The
// error is one of the declaration of its metrics.
func familyOf(r *executor.Recorder, prefix string) (*family, error) {
	v, err := r.Shared(familyKey(prefix), func() (any, error) { return newFamily(r, prefix) })
	if err != nil {
		return nil, err
	}
	return v.(*family), nil
}

// newFamily declares the metrics of a prefix and returns the family with their meters. The
// error is one of the declaration.
func newFamily(r *executor.Recorder, prefix string) (*family, error) {
	f := &family{prefix: strings.Clone(prefix)}
	f.targets.Store(&map[string]*target{})
	f.given.Store(&[]given{})
	f.peers.Store(&map[string]*peer{})
	f.names.Store(&map[string]*named{})
	f.plain = &settings{Options: DefaultOptions()}
	d := declaration(f.prefix, &f.meters)
	if err := d.declare(r); err != nil {
		return nil, err
	}
	return f, nil
}

func groupName(prefix string) string { return "HTTP (" + prefix + ")" }

// declared is a group of metrics, and where to store the meter of each title. Call graph
// before metric.
type declared struct {
	group  metrics.Group
	meters map[string]*executor.Meter
}

// groupOf returns a prefix's group, without graphs. Declaring a group again adds to it.
func groupOf(prefix string) declared {
	return declared{metrics.Group{Name: groupName(prefix)}, map[string]*executor.Meter{}}
}

// graph adds a graph.
func (d *declared) graph(title, unit string) {
	d.group.Graphs = append(d.group.Graphs, metrics.Graph{Title: title, Unit: unit})
}

// metric adds a metric to the last graph.
func (d *declared) metric(title string, t metrics.Type, m *executor.Meter) {
	g := &d.group.Graphs[len(d.group.Graphs)-1]
	g.Metrics = append(g.Metrics, metrics.Metric{Title: title, Type: t})
	d.meters[title] = m
}

// declare declares the metrics and stores their meters. The error is that of Setup or Find.
func (d *declared) declare(r *executor.Recorder) error {
	if err := r.Setup([]metrics.Group{d.group}); err != nil {
		return err
	}
	for title, m := range d.meters {
		var err error
		if *m, err = r.Find(title); err != nil {
			return err
		}
	}
	return nil
}

// declaration returns the metrics that all clients of a prefix have, for declare to store in
// m.
func declaration(prefix string, m *meters) declared {
	d := groupOf(prefix)
	graph := d.graph
	metric := func(name string, t metrics.Type, m *executor.Meter) { d.metric(prefix+"."+name, t, m) }
	graph("Responses", "N")
	metric("http_ok", metrics.Counter, &m.ok)
	metric("http_fail", metrics.Counter, &m.fail)
	metric("http_other_fail", metrics.Counter, &m.otherFail)
	graph("Latency", "ns")
	metric("latency", metrics.Histogram, &m.latency)
	graph("Time to first byte", "ns")
	metric("ttfb", metrics.Histogram, &m.ttfb)
	graph("Status", "N")
	for i, class := range []string{"2xx", "3xx", "4xx", "5xx", "other"} {
		metric("status."+class, metrics.Counter, &m.classes[i])
	}
	graph("Traffic", "B")
	metric("bytes_in", metrics.Counter, &m.bytesIn)
	metric("bytes_out", metrics.Counter, &m.bytesOut)
	graph("Connections", "N")
	metric("connections_opened", metrics.Counter, &m.opened)
	metric("connections_open", metrics.Gauge, &m.open)
	graph("Reuse", "N")
	metric("connections_reused", metrics.Counter, &m.reused)
	graph("Errors", "N")
	for class := range conn.Class(conn.Classes) {
		metric("error."+class.String(), metrics.Counter, &m.errors[class])
	}
	graph("Connecting", "ns")
	metric("connect", metrics.Histogram, &m.connect)
	metric("dns", metrics.Histogram, &m.lookup)
	metric("tls", metrics.Histogram, &m.tls)
	graph("TLS handshakes", "N")
	metric("tls_handshakes", metrics.Counter, &m.handshakes)
	metric("tls_resumed", metrics.Counter, &m.resumed)
	graph("Recovery", "ns")
	metric("recovery", metrics.Histogram, &m.recovery)
	return d
}

// hops counts the answers that are not the last of their operation.
type hops struct{ redirects, challenges executor.Meter }

// needHops declares the metrics of clients that may send several requests for an operation,
// and sets f.hops. It does nothing if they are declared. The error is that of declare. Any
// goroutine may call it.
func (f *family) needHops(r *executor.Recorder) error {
	if f.hops.Load() != nil {
		return nil
	}
	h := new(hops)
	d := groupOf(f.prefix)
	d.graph("Followed", "N")
	d.metric(f.prefix+".redirects", metrics.Counter, &h.redirects)
	d.metric(f.prefix+".challenges", metrics.Counter, &h.challenges)
	if err := d.declare(r); err != nil {
		return err
	}
	f.hops.Store(h)
	return nil
}

// target returns the target of an origin, "http://host:port", the same one for all clients
// while at most maxTargets are known; a further one is new at each call. The error is that of
// parseOrigin.
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
