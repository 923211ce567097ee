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
	begun, resent       executor.Meter
	ok, fail, otherFail executor.Meter
	latency, age, ttfb  executor.Meter
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

// declared is a group of metrics, with what each counts and where to store its meter. Call
// graph before metric.
type declared struct {
	prefix string
	group  metrics.Group
	counts map[string]metrics.Counts  // by title
	meters map[string]*executor.Meter // by title
}

// groupOf returns a prefix's group, without graphs. Declaring a group again adds to it.
func groupOf(prefix string) declared {
	return declared{prefix, metrics.Group{Name: groupName(prefix)}, map[string]metrics.Counts{}, map[string]*executor.Meter{}}
}

// graph adds a graph.
func (d *declared) graph(title, unit string) {
	d.group.Graphs = append(d.group.Graphs, metrics.Graph{Title: title, Unit: unit})
}

// metric adds the metric PREFIX.name to the last graph. c.Of is set; without a role, it is
// left out.
func (d *declared) metric(name string, t metrics.Type, c metrics.Counts, m *executor.Meter) {
	g := &d.group.Graphs[len(d.group.Graphs)-1]
	title := d.prefix + "." + name
	g.Metrics = append(g.Metrics, metrics.Metric{Title: title, Type: t})
	if c.Role != "" {
		c.Of = d.prefix
		d.counts[title] = c
	}
	d.meters[title] = m
}

// declare declares the metrics and stores their meters. The error is that of Declare or Find.
func (d *declared) declare(r *executor.Recorder) error {
	if err := r.Declare([]metrics.Group{d.group}, d.counts); err != nil {
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

// whole is what a metric of all of a prefix's operations counts.
func whole(r metrics.Role) metrics.Counts { return metrics.Counts{Role: r} }

// part is what a metric of a part of them counts.
func part(r metrics.Role, by, name string) metrics.Counts {
	return metrics.Counts{Role: r, By: by, Part: name}
}

// declaration returns the metrics that all clients of a prefix have, for declare to store in
// m.
func declaration(prefix string, m *meters) declared {
	d := groupOf(prefix)
	details := func(name string, t metrics.Type, m *executor.Meter) { d.metric(name, t, whole(metrics.Detail), m) }
	d.graph("Responses", "N")
	d.metric("http_ok", metrics.Counter, whole(metrics.OK), &m.ok)
	d.metric("http_fail", metrics.Counter, whole(metrics.Failed), &m.fail)
	d.metric("http_other_fail", metrics.Counter, whole(metrics.Unanswered), &m.otherFail)
	d.graph("Requests", "N")
	d.metric("begun", metrics.Counter, whole(metrics.Begun), &m.begun)
	d.metric("resent", metrics.Counter, whole(metrics.Resent), &m.resent)
	d.graph("Latency", "ns")
	d.metric("latency", metrics.Histogram, whole(metrics.Time), &m.latency)
	d.graph("Age of requests without an answer", "ns")
	d.metric("age", metrics.Histogram, whole(metrics.Age), &m.age)
	d.graph("Time to first byte", "ns")
	details("ttfb", metrics.Histogram, &m.ttfb)
	d.graph("Status", "N")
	for i, class := range []string{"2xx", "3xx", "4xx", "5xx", "other"} {
		d.metric("status."+class, metrics.Counter, part(metrics.Detail, "status class", class), &m.classes[i])
	}
	d.graph("Traffic", "B")
	d.metric("bytes_in", metrics.Counter, part(metrics.Bytes, "direction", "in"), &m.bytesIn)
	d.metric("bytes_out", metrics.Counter, part(metrics.Bytes, "direction", "out"), &m.bytesOut)
	d.graph("Connections", "N")
	d.metric("connections_opened", metrics.Counter, whole(metrics.Connections), &m.opened)
	d.metric("connections_open", metrics.Gauge, part(metrics.Connections, "state", "open"), &m.open)
	d.graph("Reuse", "N")
	details("connections_reused", metrics.Counter, &m.reused)
	d.graph("Errors", "N")
	for class := range conn.Class(conn.Classes) {
		d.metric("error."+class.String(), metrics.Counter, part(metrics.Unanswered, "error", class.String()), &m.errors[class])
	}
	d.graph("Connecting", "ns")
	details("connect", metrics.Histogram, &m.connect)
	details("dns", metrics.Histogram, &m.lookup)
	details("tls", metrics.Histogram, &m.tls)
	d.graph("TLS handshakes", "N")
	details("tls_handshakes", metrics.Counter, &m.handshakes)
	details("tls_resumed", metrics.Counter, &m.resumed)
	d.graph("Recovery", "ns")
	d.metric("recovery", metrics.Histogram, metrics.Counts{}, &m.recovery)
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
	d.metric("redirects", metrics.Counter, part(metrics.Followed, "cause", "redirects"), &h.redirects)
	d.metric("challenges", metrics.Counter, part(metrics.Followed, "cause", "challenges"), &h.challenges)
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
