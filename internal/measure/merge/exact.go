package merge

import (
	"fmt"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// Exact replaces an executor's gathered histograms in the totals by the exact ones;
// intervals stay as they were sent. through must be the number of the last batch that was
// merged, and that must not be the executor's final one. more means that further histograms
// of the executor follow; until a call without it, Missing reports them. If it returns an
// error, nothing has changed.
func (m *Merger) Exact(executor int, through uint64, all []*wire.Recounted, more bool) error {
	s := m.executors[executor]
	if through != s.seq || s.final != nil {
		return fmt.Errorf("exact histograms up to batch %d come after batch %d", through, s.seq)
	}
	changes, err := m.exact(s.metrics, all, nil)
	if err != nil {
		return err
	}
	replace(changes)
	s.gathered = s.gathered && more
	return nil
}

// change replaces histograms in a metric's total.
type change struct {
	of        *metric
	sent, all hdr.Sparse
}

// replace makes changes that exact has returned. Their metrics must be declared, and the
// batch that exact received merged.
func replace(changes []change) {
	for i := range changes {
		c := &changes[i]
		c.of.hist.Replace(&c.sent, &c.all)
	}
}

// exact returns the changes that replace the histograms that were sent by the exact ones,
// or an error if they are not of the same recordings, once b is merged. b is a batch whose
// histograms are in m.decoded, or nil. Metrics are numbered as in known. Nothing is changed
// yet.
func (m *Merger) exact(known []*metric, all []*wire.Recounted, b *wire.Batch) ([]change, error) {
	changes := make([]change, len(all))
	of := map[*metric]bool{}
	for i, h := range all {
		if int(h.Metric) >= len(known) || known[h.Metric].Type != run.Histogram || of[known[h.Metric]] {
			return nil, fmt.Errorf("exact counts are of metric number %d, which is no histogram or has some already", h.Metric)
		}
		c := &changes[i]
		c.of = known[h.Metric]
		of[c.of] = true
		if err := c.sent.Decode(h.Sent); err != nil {
			return nil, fmt.Errorf("histogram %q as it was sent: %w", c.of.Title, err)
		}
		if err := c.all.Decode(h.Counted); err != nil {
			return nil, fmt.Errorf("histogram %q as it was counted: %w", c.of.Title, err)
		}
		var then hdr.Histogram
		if c.of.hist != nil { // else b declares it
			then.Merge(c.of.hist)
		}
		for j, own := range b.GetHistograms() {
			if known[own.Metric] == c.of && !b.Warmup {
				then.Add(&m.decoded[j])
			}
		}
		if err := then.Replaceable(&c.sent, &c.all); err != nil {
			return nil, fmt.Errorf("histogram %q: %w", c.of.Title, err)
		}
	}
	return changes, nil
}
