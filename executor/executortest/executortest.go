// Package executortest lets a test of a client or scenario read what it records.
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

// Recorder holds what a test's clients and scenario record. Its methods return sums since
// [Context]. Only one goroutine at a time may call them, while others may record.
type Recorder struct {
	registry *meter.Registry
	failures map[meter.Failure]int64
	samples  []meter.Sample
}

// Context returns a context that ends with the test, and the Recorder that it carries. Tests
// that use it may run in parallel. The random source of executor.Rand has the same fixed seed
// in each. There is nothing to close.
func Context(t testing.TB) (context.Context, *Recorder) {
	r := &Recorder{registry: meter.New(), failures: map[meter.Failure]int64{}}
	ctx, _ := meter.With(t.Context(), r.registry, nil, [2]uint64{1, 2})
	return ctx, r
}

// Counts returns the metrics whose title begins with prefix, by the rest of the title: a
// counter's sum, a histogram's number of values, a gauge's value. Zeros are omitted, and what gobench
// records beside times that it delayed itself. The map is a new one, and is empty if nothing was
// recorded.
func (r *Recorder) Counts(prefix string) map[string]int64 {
	counts := map[string]int64{}
	for _, t := range r.totals() {
		title, ok := strings.CutPrefix(t.Title, prefix)
		if !ok || t.Role.Companion() {
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

// Quantile returns the q-quantile (0 to 1) of the histogram title, in its own unit, off by at
// most 0.4 %; 0 if title is not a histogram or is empty.
func (r *Recorder) Quantile(title string, q float64) int64 {
	for _, t := range r.totals() {
		if t.Title == title && t.Histogram != nil {
			return t.Histogram.Quantile(q)
		}
	}
	return 0
}

// Errors returns how often each error was counted under source, by "CLASS: TEXT". The map is a
// new one, and is empty if there were no errors. The text is cut at 512 bytes, and is "other"
// for those beyond the first 200 of a source.
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

// Samples returns the samples of failures of a source and class: the first 3, in the order in
// which they were recorded; nil without a failure. Each is text of at most 4 KiB, in the form
// that a report shows: with secrets removed and unprintable characters escaped. Samples of at
// most 100 pairs of source and class are stored.
func (r *Recorder) Samples(source, class string) (texts []string) {
	r.totals()
	for _, s := range r.samples {
		if s.Source == source && s.Class == class {
			texts = append(texts, s.Text)
		}
	}
	return texts
}

// Watch records exchanges as text, like gobench run --once: the first 1,000 after the call,
// and as many remarks such as checks. The returned function returns a copy of those seen so
// far, in order; it may be called concurrently with recording. A second Watch ends the first.
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

// totals adds the failures and samples since its last call to r's, and returns the sums of all
// metrics, which are valid until the next call.
func (r *Recorder) totals() []meter.Total {
	cut := r.registry.Cut(meter.Measured)
	for _, f := range cut.Own.Failures {
		r.failures[f.Failure] += f.Count
	}
	r.samples = append(r.samples, cut.Samples...)
	return r.registry.Totals()
}
