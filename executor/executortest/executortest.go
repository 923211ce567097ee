// Package executortest lets a test of a client or scenario see what it records.
package executortest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/measure/meter"
)

// Recorder is a test's own recorder.
type Recorder struct {
	registry *meter.Registry
	failures map[meter.Failure]int64
	samples  []meter.Sample
}

// Context gives a context that lasts as long as the test and carries a recorder of
// its own, and that recorder. Tests that use it may run in parallel.
func Context(t testing.TB) (context.Context, *Recorder) {
	r := &Recorder{registry: meter.New(), failures: map[meter.Failure]int64{}}
	ctx, _ := meter.With(t.Context(), r.registry, nil, [2]uint64{1, 2})
	return ctx, r
}

// Counts gives the metrics whose title begins with prefix, by the rest of the
// title: a counter's sum, a histogram's number of recordings, a gauge's value.
// Those that are 0 are left out.
func (r *Recorder) Counts(prefix string) map[string]int64 {
	counts := map[string]int64{}
	for _, t := range r.totals() {
		title, ok := strings.CutPrefix(t.Title, prefix)
		if !ok {
			continue
		}
		n := t.Value
		if t.Type == metrics.Histogram {
			n = int64(t.Histogram.Count())
		}
		if n != 0 {
			counts[title] = n
		}
	}
	return counts
}

// Quantile gives the value of a histogram below which the share q of its
// recordings lies; 0 when title is not a histogram or has none.
func (r *Recorder) Quantile(title string, q float64) int64 {
	for _, t := range r.totals() {
		if t.Title == title && t.Histogram != nil {
			return t.Histogram.Quantile(q)
		}
	}
	return 0
}

// Errors gives how often each error text was counted under source, as "class: text".
func (r *Recorder) Errors(source string) map[string]int64 {
	r.totals()
	errs := map[string]int64{}
	for f, n := range r.failures {
		if f.Source == source {
			errs[f.Class+": "+f.Text] = n
		}
	}
	return errs
}

// Samples gives the texts of the failures of a source and class that were kept.
func (r *Recorder) Samples(source, class string) (texts []string) {
	r.totals()
	for _, s := range r.samples {
		if s.Source == source && s.Class == class {
			texts = append(texts, s.Text)
		}
	}
	return texts
}

// Watch has exchanges shown, as gobench run --once does: from now on each is appended
// to the texts that the function it returns gives.
func (r *Recorder) Watch() (seen func() []string) {
	var mu sync.Mutex
	var texts []string
	r.registry.Watch(1000, 1000, func(text string) {
		mu.Lock()
		defer mu.Unlock()
		texts = append(texts, text)
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(texts)
	}
}

func (r *Recorder) totals() []meter.Total {
	cut := r.registry.Cut()
	for _, f := range cut.Failures {
		r.failures[f.Failure] += f.Count
	}
	r.samples = append(r.samples, cut.Samples...)
	return r.registry.Totals()
}
