package executor

import (
	"fmt"
	"time"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/measure/merge"
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

// summary adds up the batches of this executor, as its parent does.
type summary struct {
	merger *merge.Merger
	start  *wire.Start
}

func newSummary(start *wire.Start) *summary {
	m := merge.New(0, time.Duration(start.IntervalNs))
	m.Join("", time.Duration(start.ElapsedNs))
	return &summary{m, start}
}

// add adds a batch. The error is that of the merger, which refuses what its parent refuses.
func (s *summary) add(b *wire.Batch) error {
	err := s.merger.Add(0, b)
	s.merger.Intervals(false) // which no one reads
	return err
}

// of returns the summary of all batches.
func (s *summary) of() Summary {
	all := Summary{Seconds: s.merger.Measured().Seconds(), Executor: int(s.start.Executor), Executors: max(int(s.start.Executors), 1)}
	for _, m := range s.merger.Metrics() {
		if m.Role.Companion() {
			continue // it is of gobench's own judgement, and there only if something was disturbed
		}
		t := Total{Title: m.Title, Unit: m.Unit, Type: metrics.Type(m.Type)}
		if m.Count != nil {
			t.Count = *m.Count
		}
		if m.Value != nil {
			t.Value = *m.Value
		}
		if m.RPS != nil {
			t.Rate = *m.RPS
		}
		if m.Lost != nil {
			t.lost = *m.Lost
		}
		if len(m.Histogram) > 0 {
			t.values = new(hdr.Histogram)
			if err := t.values.Decode(m.Histogram); err != nil {
				panic(err) // the merger has just encoded it
			}
			t.Mean, t.Stdev, t.Min, t.Max = t.values.Mean(), t.values.StdDev(), t.values.Min(), t.values.Max()
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
