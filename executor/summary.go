package executor

import (
	"fmt"
	"time"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// Summary is what this executor has counted in a run, without the warm-up. Of a run on one
// machine that is all, the same as in the report. On a cluster each executor has its own part,
// and the report has the whole.
type Summary struct {
	Seconds   float64 // measured time: until the load's end, without warm-ups and pauses
	Executor  int     // this one, from 0
	Executors int     // of the run
	Metrics   []Total // all that were declared, in that order
}

// Of returns the total of the metric title; a zero Total if there is no such metric.
func (s Summary) Of(title string) Total {
	for _, t := range s.Metrics {
		if t.Title == title {
			return t
		}
	}
	return Total{}
}

// Total is the total of one metric. Values of a histogram are in Unit, as "ns".
type Total struct {
	Title, Unit string
	Type        metrics.Type
	Count       int64   // of a counter its sum, of a histogram the number of its values
	Value       int64   // of a gauge, at the end
	Rate        float64 // what came within the measured time, a second of it
	Mean, Stdev float64 // of a histogram, as Min and Max
	Min, Max    int64

	values *hdr.Histogram // nil if it is no histogram
	lost   int64          // operations without a value
}

// Quantile returns the quantile q, 0 to 1, of a histogram's values, off by at most 0.4 %. ok is
// false without values, or if its rank is that of an operation that got no answer, or of an
// iteration or step that failed: those rank after all others.
func (t Total) Quantile(q float64) (value int64, ok bool) {
	if t.values == nil || t.values.Count() == 0 || !run.Answered(q, int64(t.values.Count()), t.lost) {
		return 0, false
	}
	return t.values.QuantileAmong(q, t.lost), true
}

// Done sets a function to be called at the end of the run, once in each executor, when all that it
// has counted has been delivered: the function done(executor.Summary) of a scenario. What it
// prints is in the output of the run. It is not called if the run is cancelled, and is cut off
// after 1 s. Generated code calls Done before [Main].
func Done(f func(Summary)) { done = f }

var done func(Summary) // nil: none

// doneLimit is how long done may take. The process that started this one waits a little longer
// for its end.
const doneLimit = time.Second

// summary adds up batches.
type summary struct {
	metrics    []run.Metric
	sums       map[uint32]int64 // of counters, and numbers of values, by metric, of the measured phase
	warm       map[uint32]int64 // what came in a warm-up's time, of both phases
	gauges     map[uint32]int64
	histograms map[uint32]*hdr.Histogram
}

func newSummary() *summary {
	return &summary{sums: map[uint32]int64{}, warm: map[uint32]int64{}, gauges: map[uint32]int64{}, histograms: map[uint32]*hdr.Histogram{}}
}

// add adds a batch. The error is that of a histogram that can't be read.
func (s *summary) add(b *wire.Batch) error {
	for _, m := range b.Declared {
		s.metrics = append(s.metrics, m.Metric())
	}
	add := func(metric uint32, n int64) {
		if !b.GetWarmup() {
			s.sums[metric] += n
		}
		if b.InWarmup() {
			s.warm[metric] += n
		}
	}
	for _, c := range b.Counters {
		add(c.Metric, c.Add)
	}
	for _, g := range b.Gauges {
		s.gauges[g.Metric] = g.Value
	}
	for _, x := range b.Histograms {
		h := new(hdr.Histogram)
		if err := h.Decode(x.Counts); err != nil {
			return fmt.Errorf("add up the histogram %d: %w", x.Metric, err)
		}
		add(x.Metric, int64(h.Count()))
		if b.GetWarmup() {
			continue
		}
		if all := s.histograms[x.Metric]; all != nil {
			all.Merge(h)
		} else {
			s.histograms[x.Metric] = h
		}
	}
	return nil
}

// of returns the summary of all batches, of which the last had final.
func (s *summary) of(final *wire.Final, start *wire.Start) Summary {
	ended := map[uint32]int64{} // what came within the measured time, of both phases
	for _, c := range final.GetEnded().GetCounters() {
		ended[c.Metric] = c.Add
	}
	for _, h := range final.GetEnded().GetHistograms() {
		ended[h.Metric] = int64(h.Count)
	}
	all := Summary{Seconds: time.Duration(final.GetEnded().GetMeasuredNs()).Seconds(), Executor: int(start.Executor), Executors: max(int(start.Executors), 1)}
	counts := map[run.Counts]int64{}
	for i, m := range s.metrics {
		counts[m.Counts] += s.sums[uint32(i)]
	}
	for i, m := range s.metrics {
		n := uint32(i)
		t := Total{Title: m.Title, Unit: m.Unit, Type: metrics.Type(m.Type), Count: s.sums[n], Value: s.gauges[n]}
		if all.Seconds > 0 {
			t.Rate = float64(max(0, ended[n]-s.warm[n])) / all.Seconds
		}
		if h := s.histograms[n]; h != nil {
			t.values, t.Mean, t.Stdev, t.Min, t.Max = h, h.Mean(), h.StdDev(), h.Min(), h.Max()
			for _, missing := range m.Role.Missing() {
				t.lost += counts[m.As(missing)]
			}
		}
		all.Metrics = append(all.Metrics, t)
	}
	return all
}

// call calls done with a summary and returns what went wrong, if it panics or takes too long; ""
// if nothing did.
func call(done func(Summary), s Summary) string {
	ended := make(chan string, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				ended <- fmt.Sprintf("the scenario's function done panicked: %v", p)
				return
			}
			ended <- ""
		}()
		done(s)
	}()
	select {
	case note := <-ended:
		return note
	case <-time.After(doneLimit):
		return fmt.Sprintf("the scenario's function done took more than %v and was cut off", doneLimit)
	}
}
