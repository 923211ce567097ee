package check_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/testing/check"
	"github.com/gobench-io/gobench/internal/wire"
)

// find checks, and returns the broken invariants.
func find(t *testing.T, o check.Options) (names []string, text string) {
	t.Helper()
	found, err := check.Check(t.Context(), o)
	must(t, err)
	for _, v := range found {
		names = append(names, v.Invariant)
		text += v.String() + "\n"
	}
	slices.Sort(names)
	return slices.Compact(names), text
}

// What a master keeps of two runs, one of which lacks an executor's last batch and says so,
// holds all invariants, before its series are folded and after.
func TestWhatIsWholeIsFoundWhole(t *testing.T) {
	t.Parallel()
	for _, folded := range []bool{false, true} {
		w := newWorld(t, folded)
		o := w.options()
		o.Targets = check.Targets{w.whole: {"home.http_ok": 2 * 5 * batches, "users": 2 * batches}}
		if names, text := find(t, o); names != nil {
			t.Errorf("folded %v:\n%s", folded, text)
		}
	}
}

// Each invariant that is broken on purpose is named.
func TestWhatIsBrokenIsNamed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		invariant string
		name      string
		break_    func(w *world)
		says      string
	}{
		{"I1", "a counter is one more", func(w *world) { w.totals(func(s *merge.RunState) { s.Totals[0].Sum++ }) }, `counter "home.http_ok" is 251, want 250`},
		{"I1", "a failure is forgotten", func(w *world) { w.totals(func(s *merge.RunState) { s.Failures = nil }) }, "is counted 0 times, want 12"},
		{"I1", "the result shows another count", func(w *world) { w.result(1, `"count":250`, `"count":251`) }, "the result: counter"},
		{"I1", "a ledger is short", func(w *world) { w.shorten(w.whole, 0) }, "25 batches of executor 0 were taken in, and its ledger has 24"},
		{"I1", "a ledger is gone", func(w *world) { w.remove(w.whole, 0) }, "it has no ledger"},
		{"I1", "what is missing is not named", func(w *world) { w.result(2, `executor 1 on agentb`, `something on agentb`) }, "24 were taken in, and the result does not report"},
		{"I1", "a run is unknown", func(w *world) {
			must(w.t, os.Rename(w.ledger(w.whole, 0), filepath.Join(w.ledgers, "agenta.20260101-000000-aaaaaa.0.1.batches")))
		}, "the store does not know it"},
		{"I2", "a batch is there twice", func(w *world) {
			w.exec(`INSERT INTO batch_ranges (run, executor, epoch, high) VALUES (1, 0, 1, 3)`)
		}, "batch 3 of executor 0 (epoch 1) was taken in twice"},
		{"I2", "a batch had other bytes", func(w *world) { w.exec(`UPDATE batches SET sum = sum + 1 WHERE run = 1 AND executor = 1 AND seq = 7`) }, "batch 7 of executor 1 was taken in with other bytes"},
		{"I2", "a batch of an epoch that was none", func(w *world) {
			w.exec(`INSERT INTO batches (run, executor, epoch, seq, sum) VALUES (1, 0, 2, 1, 0)`)
		}, "in epoch 2"},
		{"I3", "a batch is not there", func(w *world) { w.exec(`DELETE FROM batches WHERE run = 1 AND executor = 0 AND seq = 9`) }, "batch 10 of executor 0 (epoch 1) follows batch 8"},
		{"I3", "the last batch is not there", func(w *world) { w.exec(`DELETE FROM batches WHERE run = 1 AND executor = 0 AND seq = 25`) }, "go to 24, its row says 25"},
		{"I3", "the final sums differ", func(w *world) { w.source(func(s *merge.SourceState) { s.Final.Counters[0].Add++ }) }, "does not report that part of executor 0 is missing: counter 0 does not add up to 126"},
		{"I3", "something is named that is there", func(w *world) { w.result(2, `executor 1 on agentb`, `executor 0 on agentb`) }, "all of executor 0 is there"},
		{"I3", "complete, and something is missing", func(w *world) { w.result(2, `"complete":false`, `"complete":true`) }, "it is complete: true"},
		{"I3", "an executor of another agent", func(w *world) { w.exec(`UPDATE executors SET agent = 'agentb' WHERE run = 1 AND executor = 0`) }, "its batches came from agentb"},
		{"I3", "no result", func(w *world) { w.exec(`DELETE FROM results WHERE run = 1`) }, "has no result"},
		{"I4", "one recording is in another bucket", func(w *world) {
			w.totals(func(s *merge.RunState) {
				var h, one hdr.Histogram
				must(w.t, h.Decode(s.Totals[2].Counts))
				one.Record(1)
				h.Merge(&one)
				s.Totals[2].Counts = h.Append(nil)
			})
		}, `histogram "home.latency" has 251 recordings`},
		{"I4", "a percentile is another one", func(w *world) { w.result(1, `"p99(ms)":0.0`, `"p99(ms)":0.1`) }, "percentiles"},
		{"I5", "a part of the merged series is lost", func(w *world) {
			w.exec(`DELETE FROM series WHERE id = (SELECT MIN(id) FROM series WHERE run = 1 AND agent = '')`)
		}, "of all agents at level 0"},
		{"I5", "a part of an agent's series is lost", func(w *world) {
			w.exec(`DELETE FROM series WHERE id = (SELECT MIN(id) FROM series WHERE run = 1 AND agent = 'agenta')`)
		}, "of agent agenta at level 0"},
		{"I5", "a part is folded and in no other", func(w *world) {
			w.exec(`UPDATE series SET folded = 1 WHERE id = (SELECT MIN(id) FROM series WHERE run = 1)`)
		}, "at level 1"},
		{"I5", "a counter goes down", func(w *world) { w.part("", func(b *wire.Batch) { b.Counters[0].Add = -1 }) }, "goes down by 1"},
		{"I5", "a failure of the series is lost", func(w *world) {
			w.part("", func(b *wire.Batch) { b.Failures = append(b.Failures, &wire.Failure{Count: 1}) })
		}, "13 failures, the ledgers 12"},
		{"I5", "a part of an agent that had none", func(w *world) {
			w.exec(`UPDATE series SET agent = 'nobody' WHERE id = (SELECT MIN(id) FROM series WHERE run = 1 AND agent = 'agenta')`)
		}, "is of agent nobody"},
		{"I6", "two runs are active", func(w *world) { w.exec(`DROP INDEX runs_active; UPDATE runs SET active = 1`) }, "2 runs are active"},
		{"I6", "a number that was not given", func(w *world) { w.exec(`UPDATE counters SET value = 1 WHERE name = 'runs'`) }, "its number is 2, and the last that was given is 1"},
		{"I6", "two runs at one time", func(w *world) {
			w.exec(`UPDATE transitions SET at = at + 7200000000000 WHERE run = 1 AND to_state = 'finished'`)
		}, "before it was until"},
		{"I7", "a state is skipped", func(w *world) { w.exec(`DELETE FROM transitions WHERE run = 1 AND to_state = 'starting'`) }, "transition 3 has version 4"},
		{"I7", "a state that may not follow", func(w *world) { w.exec(`UPDATE transitions SET to_state = 'stopping' WHERE run = 1 AND version = 3`) }, `from "compiling" to "stopping"`},
		{"I7", "a final state has changed", func(w *world) { w.exec(`UPDATE runs SET state = 'failed' WHERE number = 1`) }, `it is "failed"`},
		{"I7", "a final run is not marked so", func(w *world) { w.exec(`UPDATE runs SET final = 0 WHERE number = 1`) }, "marked as final false"},
		{"I7", "the result has another state", func(w *world) { w.result(1, `"state":"finished"`, `"state":"running"`) }, "its result says running"},
		{"I7", "time goes back", func(w *world) { w.exec(`UPDATE transitions SET at = 1 WHERE run = 1 AND version = 4`) }, "transition 4 is before"},
		{"I8", "more users were asked for", func(w *world) { w.result(1, `"users":50`, `"users":51`) }, "50 users of class ask began, and 51 were asked for"},
		{"I10", "the series goes on after the end", func(w *world) {
			w.exec(`UPDATE runs SET ended = ended - 20000000000 WHERE number = 1`)
		}, "and it ended at"},
		{"I10", "the newest part is another", func(w *world) { w.exec(`UPDATE runs SET newest = newest + 1 WHERE number = 1`) }, "and its row says"},
		{"I10", "a part is longer than an interval", func(w *world) {
			w.part("", func(b *wire.Batch) { b.ToNs += 1e9 })
			w.exec(`UPDATE series SET stop = stop + 1000000000 WHERE id = (SELECT MIN(id) FROM series WHERE run = 1 AND agent = '')`)
		}, "2s long"},
		{"I10", "a part is of another time", func(w *world) { w.part("", func(b *wire.Batch) { b.FromNs += 1e9 }) }, "and what is in it from"},
		{"I11", "a run's rows without it", func(w *world) { w.exec(`DELETE FROM runs WHERE number = 1`) }, "series of runs that are not there"},
		{"I11", "a source without its file", func(w *world) { w.exec(`DELETE FROM blobs`) }, "files without their bytes"},
		{"I11", "a session of nobody", func(w *world) {
			w.exec(`INSERT INTO sessions (hash, user_id, created, seen) VALUES (x'00', 'nobody', 0, 0)`)
		}, "1 sessions of users who are not there"},
	} {
		t.Run(tt.invariant+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, false)
			tt.break_(w)
			names, text := find(t, w.options())
			if !slices.Contains(names, tt.invariant) || !strings.Contains(text, tt.says) {
				t.Errorf("found %v, want %s with %q:\n%s", names, tt.invariant, tt.says, text)
			}
		})
	}
}

// A batch that is taken out of a folded series is found at the level that it went to.
func TestFoldedSeriesAreHeldAgainstTheTotals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	w.exec(`DELETE FROM series WHERE id = (SELECT MIN(id) FROM series WHERE run = 1 AND agent = '' AND level = 1)`)
	if names, text := find(t, w.options()); !slices.Equal(names, []string{"I5"}) || !strings.Contains(text, "of all agents at level 1") || strings.Contains(text, "level 0") {
		t.Errorf("found %v:\n%s", names, text)
	}
}

// I1, I8: a target that has seen less than was counted, or other users, is believed.
func TestTargetsAreHeldAgainstTheLedgers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	for _, tt := range []struct {
		title string
		n     int64
		want  string
	}{{"home.http_ok", 249, "I1"}, {"home.http_ok", 251, "I1"}, {"users", 49, "I8"}} {
		o := w.options()
		o.Targets = check.Targets{w.whole: {tt.title: tt.n}}
		if names, text := find(t, o); !slices.Equal(names, []string{tt.want}) {
			t.Errorf("%s %d: found %v, want %s:\n%s", tt.title, tt.n, names, tt.want, text)
		}
	}
}

// ledger is an executor's.
func (w *world) ledger(id string, executor int) string {
	return filepath.Join(w.ledgers, fmt.Sprintf("agent%c.%s.%d.77.batches", 'a'+executor, id, executor))
}

func (w *world) remove(id string, executor int) { must(w.t, os.Remove(w.ledger(id, executor))) }

// shorten cuts the last record of a ledger, as a kill does that comes while it is written.
func (w *world) shorten(id string, executor int) {
	b, err := os.ReadFile(w.ledger(id, executor))
	must(w.t, err)
	must(w.t, os.WriteFile(w.ledger(id, executor), b[:len(b)-3], 0o600))
}
