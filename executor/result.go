package executor

import (
	"time"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/measure/meter"
)

// resultMeters count what RecordSuccess and RecordFailure are told.
type resultMeters struct{ ok, fail, latency, bytes meter.Meter }

// RecordSuccess counts one operation that went well, as boomer's does: kind and name
// tell which ("grpc", "hello"), elapsed how long it took, bytes what it brought. It
// counts KIND.NAME.ok and KIND.NAME.bytes and adds KIND.NAME.latency, to the
// nanosecond. It may be called by any number of goroutines.
func RecordSuccess(kind, name string, elapsed time.Duration, bytes int64) {
	r := current.Load()
	m, ok := r.resultOf(kind, name)
	if !ok {
		return
	}
	e := r.Entry()
	e.Add(m.ok, 1)
	e.Record(m.latency, int64(elapsed))
	e.Add(m.bytes, bytes)
	e.Close()
}

// RecordFailure counts one operation that failed, under KIND.NAME.fail and by the
// error's text, of which 200 are kept apart. A failure has no latency: elapsed is
// taken for boomer's sake.
func RecordFailure(kind, name string, elapsed time.Duration, err string) {
	r := current.Load()
	m, ok := r.resultOf(kind, name)
	if !ok {
		return
	}
	m.fail.Add(1)
	source := kind + "." + name
	r.Error(source, "failure", err)
	r.Sample(source, "failure", func() Exchange {
		return Exchange{What: source + " failed", Began: time.Now().Add(-elapsed), Parts: []Part{{Name: "after", Took: elapsed}}, Error: err}
	})
}

// resultOf returns the meters of kind and name. If they can't be declared, it counts the
// reason as an error and returns false.
func (r *Recorder) resultOf(kind, name string) (resultMeters, bool) {
	m, err := r.names().results.get(kind+"."+name, r.declareResult)
	if err != nil {
		r.Error(kind, "declare", err.Error())
	}
	return m, err == nil
}

func (r *Recorder) declareResult(title string) (m resultMeters, err error) {
	group := "Results (" + title + ")"
	if err = r.declare(group, metrics.Graph{Title: "Results", Unit: "N", Metrics: []metrics.Metric{
		{Title: title + ".ok", Type: metrics.Counter}, {Title: title + ".fail", Type: metrics.Counter}}}, &m.ok, &m.fail); err != nil {
		return m, err
	}
	if err = r.declare(group, metrics.Graph{Title: "Latency", Unit: "ns", Metrics: []metrics.Metric{{Title: title + ".latency", Type: metrics.Histogram}}}, &m.latency); err != nil {
		return m, err
	}
	err = r.declare(group, metrics.Graph{Title: "Bytes", Unit: "B", Metrics: []metrics.Metric{{Title: title + ".bytes", Type: metrics.Counter}}}, &m.bytes)
	return m, err
}
