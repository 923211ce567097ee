package master

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/local/history"
	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// exported returns a run of two agents that is over, and its archive.
func exported(t *testing.T, r *rig) (id string, archive []byte) {
	t.Helper()
	id = r.running(run.Options{Thresholds: []string{"home.latency: p99 < 1s"}}, "one", "two")
	for i := range int64(5) {
		for _, name := range []string{"one", "two"} {
			a := r.of(name)
			a.deliver(&agentpb.Delivery{Executor: uint32(a.parts[0].number), What: &agentpb.Delivery_Log{Log: &agentpb.Log{Offset: i * 6, Text: []byte("hello\n")}}})
			a.batch(10+i, i, time.Duration(1+i)*time.Millisecond)
		}
	}
	var early bytes.Buffer
	if err := r.Export(context.Background(), id, &early); !errors.Is(err, run.ErrConflict) || early.Len() > 0 {
		t.Errorf("a run that goes on is exported: %v, %d bytes", err, early.Len())
	}
	r.of("one").finish()
	r.of("two").finish()
	r.result(id)
	return id, r.archive(id)
}

func (r *rig) archive(id string) []byte {
	r.t.Helper()
	var b bytes.Buffer
	if err := r.Export(context.Background(), id, &b); err != nil {
		r.t.Fatal(err)
	}
	return b.Bytes()
}

// shown is what a master shows of a run: its result, its series and its log.
func (r *rig) shown(id string) (result, series, log string) {
	r.t.Helper()
	text := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			r.t.Fatal(err)
		}
		return string(b)
	}
	x, err := r.Result(context.Background(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	var all []run.Interval
	if err := r.Series(context.Background(), run.SeriesQuery{Run: id}, func(i run.Interval) error { all = append(all, i); return nil }); err != nil {
		r.t.Fatal(err)
	}
	return text(x), text(all), r.printed(run.LogQuery{Run: id})
}

// I13: a run that is exported and imported by another master, repeatedly, is shown the same
// there; in a local history it adds up to the same, bucket for bucket.
func TestExportAndImport(t *testing.T) {
	bubble(t, func(t *testing.T) {
		from, to := newRig(t, "one", "two"), newRig(t)
		id, archive := exported(t, from)
		result, series, log := from.shown(id)
		if strings.Count(log, "hello") != 10 {
			t.Fatalf("the log is %q", log)
		}
		o, err := to.Import(context.Background(), bytes.NewReader(archive), "somebody")
		if err != nil {
			t.Fatal(err)
		}
		if was, err := from.Run(context.Background(), id); err != nil || o.ID != id || o.Owner != "somebody" || o.State != run.Finished || o.Name != was.Name || o.Verdict != was.Verdict || o.Number == 0 {
			t.Errorf("the run is imported as %+v, and was %+v (%v)", o, was, err)
		}
		gotResult, gotSeries, gotLog := to.shown(id)
		if gotResult != result {
			t.Errorf("the result is\n%s, want\n%s", gotResult, result)
		}
		if gotSeries != series || len(series) < 100 {
			t.Errorf("the series is\n%s, want\n%s", gotSeries, series)
		}
		if gotLog != log {
			t.Errorf("the log is %q, want %q", gotLog, log)
		}
		if _, err := to.Import(context.Background(), bytes.NewReader(archive), "somebody"); !errors.Is(err, run.ErrConflict) {
			t.Errorf("imported twice: %v", err)
		}
		if _, err := from.Import(context.Background(), bytes.NewReader(archive), "somebody"); !errors.Is(err, run.ErrConflict) {
			t.Errorf("imported where it is: %v", err)
		}
		for name, a := range map[string][]byte{"the first": archive, "the second": to.archive(id)} {
			h := history.Open(t.TempDir())
			r, err := h.Import(bytes.NewReader(a), func(history.History, string) error { return nil })
			if err != nil {
				t.Fatalf("%s archive: %v", name, err)
			}
			m := merge.New(1, time.Second)
			if err := h.Batches(id, func(e int, b *wire.Batch) error { return m.Add(e, b) }); err != nil {
				t.Fatalf("%s archive: %v", name, err)
			}
			if !r.Complete || len(r.Metrics) != 4 || len(m.Missing()) > 0 {
				t.Errorf("%s archive: complete %v with %d metrics, missing %q", name, r.Complete, len(r.Metrics), m.Missing())
			}
			if err := m.Agrees(r); err != nil {
				t.Errorf("%s archive: %v", name, err)
			}
		}
		if err := to.Delete(context.Background(), id); err != nil {
			t.Errorf("delete it: %v", err)
		}
	})
}

// A run without any load has a result too.
func TestExportOfNoLoad(t *testing.T) {
	bubble(t, func(t *testing.T) {
		from, to := newRig(t), newRig(t)
		id := from.submit(run.Options{})
		if err := from.Cancel(context.Background(), id, "tester"); err != nil {
			t.Fatal(err)
		}
		from.await(id, run.Cancelled)
		o, err := to.Import(context.Background(), bytes.NewReader(from.archive(id)), "somebody")
		if err != nil || o.State != run.Cancelled || o.Cause != "cancelled by tester" {
			t.Errorf("imported as %+v, %v", o, err)
		}
		if _, series, _ := to.shown(id); series != "null" {
			t.Errorf("it has the series %s", series)
		}
	})
}

// A run whose gobench was killed has no figures in its result: those of its batches are shown.
func TestImportOfAKilledRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		from, to := newRig(t, "one", "two"), newRig(t)
		id, archive := exported(t, from)
		h, killed := history.Open(t.TempDir()), history.Open(t.TempDir())
		r, err := h.Import(bytes.NewReader(archive), func(history.History, string) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		count, seconds := *r.Metrics[0].Count, r.Seconds
		r.State, r.Metrics, r.Errors, r.Seconds, r.Verdict, r.Complete = run.Running, []run.Metric{}, []run.Failure{}, 0, "", false
		f, err := killed.Create(id)
		if err != nil {
			t.Fatal(err)
		}
		err = h.Batches(id, func(e int, b *wire.Batch) error { return f.Append(e, b) })
		var out bytes.Buffer
		if err := errors.Join(err, f.Put(r), f.Close(), killed.Export(id, &out)); err != nil {
			t.Fatal(err)
		}
		o, err := to.Import(context.Background(), bytes.NewReader(out.Bytes()), "somebody")
		if err != nil || o.State != run.Failed {
			t.Fatalf("imported as %+v, %v", o, err)
		}
		got, err := to.Result(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Metrics) == 0 || *got.Metrics[0].Count != count || got.Seconds != seconds || got.Complete || !o.Ended.After(o.Started) {
			t.Errorf("the run ended at %v and its result is %+v; want %d in %v s", o.Ended, got, count, seconds)
		}
	})
}

// B5: an archive that does not add up is refused, and nothing of it is stored.
func TestImportRefuses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		from, to := newRig(t, "one", "two"), newRig(t)
		id, archive := exported(t, from)
		forged := func(change func(r *run.Result, batches []*wire.Batch)) []byte {
			h, made := history.Open(t.TempDir()), history.Open(t.TempDir())
			r, err := h.Import(bytes.NewReader(archive), func(history.History, string) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			var batches []*wire.Batch
			if err := h.Batches(id, func(_ int, b *wire.Batch) error { batches = append(batches, b); return nil }); err != nil {
				t.Fatal(err)
			}
			change(r, batches)
			f, err := made.Create(id)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range batches {
				if err := f.Append(0, b); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			if err := errors.Join(f.Put(r), f.Close(), made.Export(id, &out)); err != nil {
				t.Fatal(err)
			}
			return out.Bytes()
		}
		for name, bad := range map[string][]byte{
			"nothing":          nil,
			"no archive":       []byte("hello, world, this is no archive of any run"),
			"half of one":      archive[:len(archive)/2],
			"another total":    forged(func(r *run.Result, _ []*wire.Batch) { *r.Metrics[0].Count++ }),
			"more counted":     forged(func(_ *run.Result, b []*wire.Batch) { b[1].Counters[0].Add++ }),
			"a batch twice":    forged(func(_ *run.Result, b []*wire.Batch) { b[2] = b[1] }),
			"a gap":            forged(func(_ *run.Result, b []*wire.Batch) { b[1].Seq = 7 }),
			"no such metric":   forged(func(_ *run.Result, b []*wire.Batch) { b[1].Counters[0].Metric = 70 }),
			"no histogram":     forged(func(_ *run.Result, b []*wire.Batch) { b[1].Histograms[0].Counts = []byte("x") }),
			"of a huge number": forged(func(_ *run.Result, b []*wire.Batch) { b[1].Counters[0].Add = -1 }),
		} {
			if _, err := to.Import(context.Background(), bytes.NewReader(bad), "somebody"); !errors.Is(err, run.ErrArchive) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if page, _, err := to.Runs(context.Background(), run.Filter{}); err != nil || len(page) > 0 {
			t.Errorf("%d runs are kept, %v", len(page), err)
		}
		if _, err := to.Import(context.Background(), bytes.NewReader(archive), "somebody"); err != nil {
			t.Errorf("the good one after bad ones: %v", err)
		}
	})
}
