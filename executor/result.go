package executor

import (
	"time"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/run"
)

// resultMeters are the meters of RecordSuccess and RecordFailure.
type resultMeters struct{ ok, fail, latency, bytes meter.Meter }

// RecordSuccess records one successful operation, like boomer's function: kind and name
// identify it ("grpc", "hello"), elapsed is its duration, bytes the size of its answer. It
// adds 1 to KIND.NAME.ok and bytes to KIND.NAME.bytes, and records elapsed in
// KIND.NAME.latency, in nanoseconds; a negative value is dropped. Any number of goroutines may
// call it at once.
//
// The first use of a kind and name declares four metrics, and a run has at most 1,000. If they
// can't be declared, that is counted as an error of source KIND, and nothing else is recorded.
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

// RecordFailure records one failed operation: it adds 1 to KIND.NAME.fail and counts err, of
// which the first 200 texts are counted separately. A failure has no latency; elapsed is only
// shown in samples of failures, of which the first 3 are stored, within the limit of
// [Recorder.Sample]. The metrics are declared as by [RecordSuccess]. Any number of goroutines
// may call it at once.
func RecordFailure(kind, name string, elapsed time.Duration, err string) {
	r := current.Load()
	m, ok := r.resultOf(kind, name)
	if !ok {
		return
	}
	r.Record(m.fail, 1)
	source := kind + "." + name
	r.Error(source, "failure", err)
	r.Sample(source, "failure", func() Exchange {
		return Exchange{What: source + " failed", Began: time.Now().Add(-elapsed), Parts: []Part{{Name: "after", Took: elapsed}}, Error: err}
	})
}

// resultOf returns the meters of kind and name, and declares them at first use. If they can't
// be declared, it counts the reason as an error of source kind and returns false; the meters
// must not be used then.
func (r *Recorder) resultOf(kind, name string) (resultMeters, bool) {
	m, err := r.names().results.Get(kind+"."+name, r.declareResult)
	if err != nil {
		r.Error(kind, "declare", err.Error())
	}
	return m, err == nil
}

// declareResult declares the four metrics of title, "KIND.NAME", and returns their meters, not
// all of them with an error, which is that of DeclareGraph.
func (r *Recorder) declareResult(title string) (m resultMeters, err error) {
	group := "Results (" + title + ")"
	counts := func(role run.Role) run.Counts { return run.Counts{Role: role, Of: title} }
	if err = r.Registry.DeclareGraph(group, metrics.Graph{Title: "Results", Unit: "N"}, metrics.Counter,
		metric(title+".ok", counts(run.OpOK), &m.ok), metric(title+".fail", counts(run.OpUnanswered), &m.fail)); err != nil {
		return m, err
	}
	if err = r.Registry.DeclareGraph(group, metrics.Graph{Title: "Latency", Unit: "ns"}, metrics.Histogram, metric(title+".latency", counts(run.OpTime), &m.latency)); err != nil {
		return m, err
	}
	err = r.Registry.DeclareGraph(group, metrics.Graph{Title: "Bytes", Unit: "B"}, metrics.Counter, metric(title+".bytes", counts(run.Bytes), &m.bytes))
	return m, err
}
