package runner

import (
	"time"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/measure/health"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// Report cuts a batch every interval since began, and at every start and end of a warm-up, and
// passes it to send, until done is closed. It then cuts the last batch, which has the final
// sums, and returns nil. Once a second it also records the health of this generator. If the
// metrics for that can't be declared, or send fails, it returns that error at once. The
// start's interval must be above 0. Run it once, concurrently with Run; began is the time just
// before Run is called. send is never called concurrently and owns its batch. If the run had
// started earlier, on another executor, the first batch begins at the time already elapsed,
// and the clock of all batches is shifted by it.
func (r *Runner) Report(began time.Time, done <-chan struct{}, send func(*wire.Batch) error) error {
	generator, err := newGenerator(r.registry)
	if err != nil {
		return err
	}
	defer generator.sampler.Close()
	interval := time.Duration(r.start.IntervalNs)
	var seq uint64
	from := time.Duration(r.start.ElapsedNs)
	began = began.Add(-from)
	generator.due = (from/health.Every + 1) * health.Every
	for {
		to := (from/interval + 1) * interval
		warm, border := r.warmups.at(from)
		to = min(to, border)
		final := generator.until(to, began, done)
		if now := time.Since(began); final && now > to { // done was closed just after the border: the rest is in the last batch
			final = false
		} else if final {
			to = max(now, from+1)
		}
		batches := r.batches(from, to, began, warm)
		if final {
			batches[len(batches)-1].Final = r.final(began)
		}
		for _, b := range batches {
			if seq++; seq == 1 {
				b.GoUnixNs = began.UnixNano()
			}
			b.Seq = seq
			if err := send(b); err != nil {
				return err
			}
		}
		if final {
			return nil
		}
		from = to
	}
}

// batches cuts the registry and returns what was recorded since the last cut (or the registry
// was made), with the notes since then, as one batch of the phase of that time, and before it
// one of the other phase if that recorded something. from and to are times of the run, whose
// clock began at began. The caller owns the batches, which have no numbers yet.
func (r *Runner) batches(from, to time.Duration, began time.Time, warm bool) (all []*wire.Batch) {
	for _, c := range r.classes {
		if paced(c.vu) {
			c.counts.behind.Set(c.coming.overdue(c.now()))
		}
	}
	phase := meter.Measured
	if warm {
		phase = meter.Warmup
	}
	cut := r.registry.Cut(phase)
	if !cut.Other.Empty() {
		b := &wire.Batch{FromNs: int64(from), ToNs: int64(to), Warmup: !warm, More: true}
		count(b, &cut.Other)
		all = append(all, b)
	}
	b := &wire.Batch{FromNs: int64(from), ToNs: int64(to), Warmup: warm}
	count(b, &cut.Own)
	all = append(all, b)
	all[0].First = uint32(cut.First)
	for _, d := range cut.Declared {
		all[0].Declared = append(all[0].Declared, metricOf(d))
	}
	for _, v := range cut.Gauges {
		b.Gauges = append(b.Gauges, &wire.Gauge{Metric: uint32(v.Metric), Value: v.Value})
	}
	for _, s := range cut.Samples {
		b.Samples = append(b.Samples, &wire.Sample{Source: s.Source, Class: s.Class, AtNs: max(0, int64(s.Began.Sub(began))), Text: s.Text})
	}
	r.mu.Lock()
	b.Notes, r.notes = r.notes, nil
	drain := r.ended != nil && to > r.loadEnd+time.Duration(r.start.IntervalNs)/10
	r.mu.Unlock()
	for _, b := range all {
		b.Drain = drain
	}
	return all
}

// metricOf returns a declared metric as batches declare it.
func metricOf(d meter.Decl) *wire.Metric {
	return wire.MetricOf(run.Metric{Title: d.Title, Type: run.MetricType(d.Type), Group: d.Group, Graph: d.Graph, Unit: d.Unit, Counts: d.Counts})
}

// Known returns the metrics that are known before a scenario's load is set up, up to
// wire.MaxKnown: those of its classes, gobench's own, and those that r has. classes are
// those that Check returned for vus.
func Known(vus scenario.Vus, classes []*wire.Class, r *meter.Registry) (all []*wire.Metric) {
	own := meter.New()
	_ = declareGenerator(own) // it has nothing else yet
	for i, c := range classes {
		_, _ = newCounts(own, c.Name, vus[i]) // an error is that of New, too
	}
	for _, d := range append(own.Declared(), r.Declared()...) {
		if len(all) < wire.MaxKnown {
			all = append(all, metricOf(d))
		}
	}
	return all
}

// count adds what was counted of a phase to its batch.
func count(b *wire.Batch, c *meter.Counted) {
	for _, v := range c.Counters {
		b.Counters = append(b.Counters, &wire.Counter{Metric: uint32(v.Metric), Add: v.Value})
	}
	for _, v := range c.Histograms {
		b.Histograms = append(b.Histograms, &wire.Histogram{Metric: uint32(v.Metric), Counts: v.Histogram.Append(nil)})
	}
	for _, f := range c.Failures {
		b.Failures = append(b.Failures, &wire.Failure{Source: f.Source, Class: f.Class, Text: f.Text, Count: f.Count})
	}
}

// final returns the sums that the counters and histograms of all batches must add up to, which
// users were interrupted, and how long the load took since began, on the clock of the batches.
// It needs the cut of the last batch.
func (r *Runner) final(began time.Time) *wire.Final {
	f := new(wire.Final)
	for i, t := range r.registry.Totals() {
		switch t.Type {
		case metrics.Counter:
			f.Counters = append(f.Counters, &wire.Counter{Metric: uint32(i), Add: t.Value})
		case metrics.Histogram:
			f.Histograms = append(f.Histograms, &wire.Counted{Metric: uint32(i), Count: t.Histogram.Count()})
		case metrics.Gauge: // a gauge does not add up
		}
	}
	f.Refused = r.registry.Refused()
	r.mu.Lock()
	f.Interrupted, f.Ended = r.interrupted, r.ended
	if !r.drained.IsZero() {
		f.LoadNs = int64(r.drained.Sub(began))
	}
	r.mu.Unlock()
	return f
}
