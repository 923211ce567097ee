package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// failure is a kind of failure.
type failure struct{ source, class, text string }

// tallied holds counts by title.
type tallied struct {
	counters   map[string]int64
	histograms map[string]*hdr.Histogram
	failures   map[failure]int64
	failed     int64
}

func newTallied() *tallied {
	return &tallied{counters: map[string]int64{}, histograms: map[string]*hdr.Histogram{}, failures: map[failure]int64{}}
}

// sums holds counts with the warm-up and without.
type sums struct{ whole, measured *tallied }

func newSums() *sums { return &sums{newTallied(), newTallied()} }

// add adds the counters, histograms and failures of a batch whose metrics are declared in
// titles. If it returns an error, because a metric is not declared or a value is impossible,
// part of the batch may be added.
func (t *tallied) add(b *wire.Batch, titles []*wire.Metric) error {
	title := func(n uint32, kind run.MetricType) (string, error) {
		if int(n) >= len(titles) || run.MetricType(titles[n].Type) != kind {
			return "", fmt.Errorf("metric number %d is no %s that is declared", n, kind)
		}
		return titles[n].Title, nil
	}
	for _, c := range b.Counters {
		name, err := title(c.Metric, run.Counter)
		if err != nil {
			return err
		}
		if c.Add < 0 {
			return fmt.Errorf("counter %q goes down by %d", name, -c.Add)
		}
		t.counters[name] += c.Add
	}
	for _, h := range b.Histograms {
		name, err := title(h.Metric, run.Histogram)
		if err != nil {
			return err
		}
		one := new(hdr.Histogram)
		if err := one.Decode(h.Counts); err != nil {
			return fmt.Errorf("histogram %q: %w", name, err)
		}
		if t.histograms[name] == nil {
			t.histograms[name] = new(hdr.Histogram)
		}
		t.histograms[name].Merge(one)
	}
	for _, f := range b.Failures {
		t.failures[failure{f.Source, f.Class, f.Text}] += f.Count
		t.failed += f.Count
	}
	return nil
}

// differ returns a text for each difference from right, of counters and of histograms,
// sorted by title; a missing one counts as 0 or empty. nil means that all are equal.
func (t *tallied) differ(right *tallied) (counts, histograms []string) {
	for _, name := range keys(t.counters, right.counters) {
		if got, want := t.counters[name], right.counters[name]; got != want {
			counts = append(counts, fmt.Sprintf("counter %q is %d, want %d", name, got, want))
		}
	}
	for _, name := range keys(t.histograms, right.histograms) {
		got, want := orEmpty(t.histograms[name]), orEmpty(right.histograms[name])
		if !got.Equal(want) {
			histograms = append(histograms, fmt.Sprintf("histogram %q has %d recordings from %d to %d, want %d from %d to %d in the same buckets", name,
				got.Count(), got.Min(), got.Max(), want.Count(), want.Min(), want.Max()))
		}
	}
	return counts, histograms
}

// differFailures is differ for the kinds of failure; the texts are sorted.
func (t *tallied) differFailures(right *tallied) (all []string) {
	kinds := map[failure]bool{}
	for _, m := range []map[failure]int64{t.failures, right.failures} {
		for f := range m {
			kinds[f] = true
		}
	}
	for f := range kinds {
		if got, want := t.failures[f], right.failures[f]; got != want {
			all = append(all, fmt.Sprintf("failure %s/%s %.60q is counted %d times, want %d", f.source, f.class, f.text, got, want))
		}
	}
	slices.Sort(all)
	return all
}

// orEmpty returns h, or an empty histogram if it is nil.
func orEmpty(h *hdr.Histogram) *hdr.Histogram {
	if h == nil {
		return new(hdr.Histogram)
	}
	return h
}

// keys returns the keys of both maps, sorted.
func keys[V any](a, b map[string]V) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}
