package merge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// stateFormat is the format of a RunState whose metrics have their roles.
const stateFormat = 2

// State returns the encoded state of the whole run, for Restore: totals, failures, samples
// and notes, not the executors' (see SourceState) and not the intervals that have not been
// returned.
func (m *Merger) State() []byte {
	s := &RunState{Format: stateFormat, EndNs: int64(m.end), ReturnedNs: m.returned, Notes: m.notes}
	if !m.began.IsZero() {
		s.BeganUnixNs = m.began.UnixNano()
	}
	for _, t := range m.metrics {
		s.Declared = append(s.Declared, wire.MetricOf(t.Metric))
		total := &Total{Sum: t.sum, Warm: t.warm}
		if t.Type == run.Histogram {
			total.Counts = t.hist.Append(nil)
		}
		if t.rates.Count() > 0 {
			total.Rates = t.rates.Append(nil)
		}
		s.Totals = append(s.Totals, total)
	}
	for _, f := range m.Failures() {
		s.Failures = append(s.Failures, &wire.Failure{Source: f.Source, Class: f.Class, Text: f.Text, Count: f.Count})
	}
	for _, x := range m.Samples() {
		s.Samples = append(s.Samples, &wire.Sample{Source: x.Source, Class: x.Class, AtNs: int64(x.At * 1e9), Text: x.Text})
	}
	return marshal(s)
}

// SourceState returns the encoded state of an executor, for Restore.
func (m *Merger) SourceState(executor int) []byte {
	of := m.executors[executor]
	s := &SourceState{Seq: of.seq, ToNs: of.to, WarmupNs: of.warmup, Final: of.final, Counters: of.counters, Counts: of.counts, Lost: of.lost, Gathered: of.gathered, Name: of.name, Gauges: map[uint32]int64{}}
	for _, t := range of.metrics {
		s.Metrics = append(s.Metrics, uint32(t.number))
		if v, ok := t.gauges[executor]; ok {
			s.Gauges[uint32(t.number)] = v
		}
	}
	return marshal(s)
}

// marshal encodes m; it panics if a text is not valid UTF-8.
func marshal(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err) // its texts come from other messages or from this package
	}
	return b
}

// Restore returns a Merger that continues from the State of another and the SourceState of
// each of its executors, in the order of their numbers. Intervals that had not been
// returned begin empty: unless Reopen adds it, what had been merged of them is in the
// totals only. It returns an error if a state cannot be decoded or the states do not fit
// together.
func Restore(interval time.Duration, state []byte, sources [][]byte) (*Merger, error) {
	m := New(0, interval)
	var whole RunState
	if err := proto.Unmarshal(state, &whole); err != nil {
		return nil, fmt.Errorf("read the state of a run: %w", err)
	}
	if len(whole.Totals) != len(whole.Declared) {
		return nil, fmt.Errorf("read the state of a run: %d totals of %d metrics", len(whole.Totals), len(whole.Declared))
	}
	if whole.Format < stateFormat {
		for _, d := range whole.Declared {
			d.SetCounts(run.Counts1(d.Title, run.MetricType(d.Type), d.Group))
		}
	}
	known, err := m.declared(new(source), &wire.Batch{Declared: whole.Declared})
	if err != nil {
		return nil, fmt.Errorf("read the state of a run: %w", err)
	}
	m.declare(new(source), known)
	for i, total := range whole.Totals {
		t := m.metrics[i]
		t.sum, t.warm = total.Sum, total.Warm
		if err := decode(t.hist, total.Counts); err != nil {
			return nil, err
		}
		if err := decode(&t.rates, total.Rates); err != nil {
			return nil, err
		}
	}
	for _, f := range whole.Failures {
		m.failures[failure{f.Source, f.Class, f.Text}] = f.Count
	}
	for _, x := range whole.Samples {
		m.sample(x)
	}
	m.notes, m.end, m.returned = slices.Clone(whole.Notes), time.Duration(whole.EndNs), whole.ReturnedNs
	if whole.BeganUnixNs != 0 {
		m.began = time.Unix(0, whole.BeganUnixNs)
	}
	for i, b := range sources {
		if err := m.restore(i, b); err != nil {
			return nil, fmt.Errorf("read the state of executor %d: %w", i, err)
		}
	}
	return m, nil
}

// restore adds executor i, which must be the next, with its SourceState; nil is that of one
// without a batch. After an error m must not be used.
func (m *Merger) restore(i int, b []byte) error {
	var s SourceState
	if err := proto.Unmarshal(b, &s); err != nil {
		return err
	}
	if len(s.Counters) != len(s.Metrics) || len(s.Counts) != len(s.Metrics) {
		return fmt.Errorf("%d counters and %d histograms of %d metrics", len(s.Counters), len(s.Counts), len(s.Metrics))
	}
	of := &source{name: s.Name, lost: s.Lost, gathered: s.Gathered, seq: s.Seq, to: s.ToNs, warmup: s.WarmupNs, final: s.Final, counters: s.Counters, counts: s.Counts}
	for _, n := range s.Metrics {
		if int(n) >= len(m.metrics) {
			return fmt.Errorf("metric number %d of %d", n, len(m.metrics))
		}
		t := m.metrics[n]
		of.metrics = append(of.metrics, t)
		if v, ok := s.Gauges[n]; ok && t.Type == run.Gauge {
			t.gauges[i] = v
		}
	}
	m.executors = append(m.executors, of)
	return nil
}

// decode replaces h by the histogram that b encodes; it does nothing if h is nil or b
// empty.
func decode(h *hdr.Histogram, b []byte) error {
	if h == nil || len(b) == 0 {
		return nil
	}
	if err := h.Decode(b); err != nil {
		return fmt.Errorf("read the state of a run: %w", err)
	}
	return nil
}

// Declared returns the metrics of the run, without their records. The caller must not change
// them.
func (m *Merger) Declared() []run.Metric { return slices.Clip(m.declares) }

// Note adds a note, as those of executors are added, of which it stores the first 64 KiB.
// Of a run's notes the first 1000 are stored, and then one that there were more.
func (m *Merger) Note(text string) {
	switch {
	case len(m.notes) < maxNotes:
		text = strings.ToValidUTF8(text[:min(len(text), maxNote)], "\uFFFD")
	case len(m.notes) == maxNotes:
		text = "there were more notes, which are not stored"
	default:
		return
	}
	m.notes = append(m.notes, text)
}

// maxNotes limits the number of a run's notes, maxNote the bytes of each.
const (
	maxNotes = 1000
	maxNote  = 64 << 10
)
