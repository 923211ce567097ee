package http

import (
	"maps"
	"time"

	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/measure/delay"
)

// maxNames limits the request names of a prefix, so that a name that contains an id does not
// use up a run's metrics. Further names count as otherName.
const (
	maxNames  = 50
	otherName = "other"
)

// named are the metrics of the requests of one name.
type named struct {
	ok, fail, otherFail executor.Meter
	latency             executor.Meter
}

// name returns the meters of a name. It declares them on first use. Beyond maxNames names it
// returns those of otherName. The error is that of the declaration, such as too many metrics
// in the run; nothing is stored then.
func (f *family) name(r *executor.Recorder, name string) (*named, error) {
	if n := (*f.names.Load())[name]; n != nil {
		return n, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	known := *f.names.Load()
	if n := known[name]; n != nil {
		return n, nil
	}
	if len(known) >= maxNames && name != otherName {
		if n := known[otherName]; n != nil {
			return n, nil
		}
		name = otherName
	}
	n := new(named)
	d := groupOf(f.prefix)
	title := "url." + name
	of := func(r metrics.Role) metrics.Counts { return part(r, "url", name) }
	d.graph("Responses of "+name, "N")
	d.metric(title+".http_ok", metrics.Counter, of(metrics.OK), &n.ok)
	d.metric(title+".http_fail", metrics.Counter, of(metrics.Failed), &n.fail)
	d.metric(title+".http_other_fail", metrics.Counter, of(metrics.Unanswered), &n.otherFail)
	d.graph("Latency of "+name, "ns")
	d.metric(title+".latency", metrics.Histogram, of(metrics.Time), &n.latency)
	if err := d.declare(r); err != nil {
		return nil, err
	}
	known = maps.Clone(known)
	known[name] = n
	f.names.Store(&known)
	return n, nil
}

// answered counts an operation with a complete answer, with its latency and gobench's own part of
// that; ok means a status 2xx.
func (n *named) answered(e executor.Entry, ok bool, latency time.Duration, own delay.Own) {
	e.RecordTime(n.latency, latency, own)
	if ok {
		e.Record(n.ok, 1)
	} else {
		e.Record(n.fail, 1)
	}
}
