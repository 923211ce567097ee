package check_test

import (
	"bytes"
	"context"
	"database/sql"
	"hash/crc64"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/master/store"
	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/check"
	"github.com/gobench-io/gobench/internal/testing/roles"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
	"github.com/gobench-io/gobench/internal/wire/compress"
)

// world is a store with two runs of two executors, and their ledgers. The second run had
// a warm-up, and one of its executors was killed: its last batch never came.
type world struct {
	t       *testing.T
	db      string // file
	ledgers string
	whole   string // id of the first run
	cut     string // id of the second

	results   map[string]*run.Result
	intervals map[string][]run.Interval
}

const batches = 25 // of an executor

var base = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// templates are a world that is not folded and one that is. They are made once and
// copied for each test, because a store takes a second to fill.
var templates struct {
	dir string // removed by TestMain
	of  [2]struct {
		once  sync.Once
		world *world
	}
}

func TestMain(m *testing.M) {
	var err error
	if templates.dir, err = os.MkdirTemp("", "gobench-check-"); err != nil {
		panic(err)
	}
	status := m.Run()
	os.RemoveAll(templates.dir)
	os.Exit(status)
}

// newWorld returns a world of the test's own whose run's series are folded, or not yet.
func newWorld(t *testing.T, folded bool) *world {
	t.Helper()
	n := 0
	if folded {
		n = 1
	}
	template := &templates.of[n]
	template.once.Do(func() {
		dir := filepath.Join(templates.dir, strconv.Itoa(n))
		must(t, os.Mkdir(dir, 0o700))
		template.world = newWorldIn(t, folded, dir, "")
	})
	if template.world == nil {
		t.Fatal("another test could not make the world that is copied")
	}
	w, dir := *template.world, t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(filepath.Dir(w.db))))
	w.t, w.db, w.ledgers = t, filepath.Join(dir, filepath.Base(w.db)), filepath.Join(dir, filepath.Base(w.ledgers))
	return &w
}

// newWorldIn makes a world in a folder, its store in a PostgreSQL database or, if dsn is
// empty, in a file of the folder.
func newWorldIn(t *testing.T, folded bool, dir, dsn string) *world {
	t.Helper()
	w := &world{t: t, db: filepath.Join(dir, "gobench.db"), ledgers: filepath.Join(dir, "ledgers"),
		results: map[string]*run.Result{}, intervals: map[string][]run.Interval{}}
	o := store.Options{Path: w.db, Fold: merge.Fold}
	if dsn != "" {
		w.db, o = dsn, store.Options{DSN: dsn, Fold: merge.Fold}
	}
	must(t, os.Mkdir(w.ledgers, 0o700))
	s, err := store.Open(t.Context(), o)
	must(t, err)
	w.whole = w.perform(s, base, false)
	w.cut = w.perform(s, base.Add(time.Hour), true)
	if folded {
		must(t, s.Maintain(t.Context()))
	}
	must(t, s.Close())
	return w
}

// perform stores a run that begins at a moment, as a master does.
func (w *world) perform(s *store.Store, began time.Time, cut bool) string {
	t, ctx := w.t, w.t.Context()
	o := &run.Order{ID: run.NewID(began), Name: "one", Owner: "admin", Created: began}
	must(t, s.CreateRun(ctx, o, run.Source{Scenario: "package main"}))
	at := began
	to := func(state run.State) {
		at = at.Add(100 * time.Millisecond)
		next, err := s.Transition(ctx, o.ID, o.Version, state, "", "master", at)
		must(t, err)
		o = next
	}
	to(run.Compiling)
	to(run.Starting)
	to(run.Running)
	m := merge.New(0, time.Second)
	agents := []string{"agenta", "agentb"}
	state := &agentpb.RecordState{IntervalNs: int64(time.Second)}
	for _, a := range agents {
		m.Join(a, 0)
		state.Executors = append(state.Executors, &agentpb.Placement{Agent: a, Epoch: 1, Name: a})
	}
	var in run.Intake
	m.OnPart(func(p merge.Part) {
		in.Series = append(in.Series, run.SeriesPart{Run: o.ID, Step: time.Second, From: p.From, To: p.To, Warmup: p.Warmup, Data: p.Data})
	})
	books := make([][]byte, len(agents))
	for i := range books {
		books[i] = []byte(wire.RecordsHead)
	}
	for n := 1; n <= batches; n++ {
		in = run.Intake{}
		for e, agent := range agents {
			b := batch(e, n, at, cut)
			var err error
			books[e], err = wire.AppendRecord(books[e], e, b)
			must(t, err)
			if cut && e == 1 && n == batches {
				continue // killed as it was about to send it
			}
			data, err := proto.Marshal(b)
			must(t, err)
			must(t, m.Add(e, b))
			p := m.PartOf(e, b)
			in.Batches = append(in.Batches, run.BatchKey{Run: o.ID, Executor: e, Epoch: 1, Seq: b.Seq, Agent: agent, Sum: crc64.Checksum(data, crc64.MakeTable(crc64.ECMA))})
			in.Series = append(in.Series, run.SeriesPart{Run: o.ID, Agent: agent, Step: time.Second, From: p.From, To: p.To, Warmup: p.Warmup, Data: p.Data})
			in.Sources = append(in.Sources, run.SourceState{Run: o.ID, Executor: e, Epoch: 1, Agent: agent, Seq: b.Seq, State: m.SourceState(e)})
		}
		w.intervals[o.ID] = append(w.intervals[o.ID], m.Intervals(n == batches)...)
		state.Merged = m.State()
		whole, err := proto.Marshal(state)
		must(t, err)
		in.Totals = []run.TotalsState{{Run: o.ID, State: whole}}
		must(t, s.Take(ctx, &in))
	}
	at = at.Add(batches * time.Second)
	to(run.Stopping)
	r := &run.Result{Format: run.Format, ID: o.ID, State: run.Finished, Created: o.Created, Start: m.Began(), Seconds: m.Load().Seconds(), Warmup: m.Warmup().Seconds(),
		Metrics: m.Metrics(), Errors: m.Failures(), Missing: m.Missing()}
	r.Complete = len(r.Missing) == 0
	r.Config.Classes = []run.Class{{Name: "ask", Users: 2 * batches, Load: "once"}}
	must(t, s.PutResult(ctx, r))
	w.results[o.ID] = r
	to(run.Finished)
	for e, agent := range agents {
		name := agent + "." + o.ID + "." + string(rune('0'+e)) + ".77.batches"
		must(t, os.WriteFile(filepath.Join(w.ledgers, name), books[e], 0o600))
	}
	return o.ID
}

// batch is the nth of an executor.
func batch(e, n int, began time.Time, warm bool) *wire.Batch {
	h := new(hdr.Histogram)
	for i := range 5 {
		h.Record(int64(1000*n + 100*i + e))
	}
	b := &wire.Batch{Seq: uint64(n), FromNs: int64(n-1) * 1e9, ToNs: int64(n) * 1e9, Warmup: warm && n <= 3,
		Counters:   []*wire.Counter{{Metric: 0, Add: 5}, {Metric: 1, Add: 1}},
		Histograms: []*wire.Histogram{{Metric: 2, Counts: h.Append(nil)}},
		Gauges:     []*wire.Gauge{{Metric: 3, Value: int64(n)}}}
	if n == 1 {
		b.GoUnixNs = began.UnixNano()
		b.Declared = roles.Declare([]*wire.Metric{{Title: "home.http_ok", Type: "counter"}, {Title: "vu.ask.started", Type: "counter"},
			{Title: "home.latency", Type: "histogram", Unit: "ns"}, {Title: "vu.ask.active", Type: "gauge"}}...)
	}
	if n%10 == 5 {
		b.Failures = []*wire.Failure{{Source: "home", Class: "timeout", Text: "no answer", Count: 2}}
	}
	if n == batches {
		b.Final = &wire.Final{Counters: []*wire.Counter{{Metric: 0, Add: 5 * batches}, {Metric: 1, Add: batches}},
			Histograms: []*wire.Counted{{Metric: 2, Count: 5 * batches}}, LoadNs: b.ToNs}
	}
	return b
}

func (w *world) driver() string {
	if strings.HasPrefix(w.db, "postgres") {
		return "pgx"
	}
	return "sqlite"
}

// options are those that check a world.
func (w *world) options() check.Options { return check.Options{DB: w.db, Ledgers: w.ledgers} }

// exec changes the store directly.
func (w *world) exec(query string, args ...any) {
	w.t.Helper()
	db, err := sql.Open(w.driver(), w.db)
	must(w.t, err)
	defer db.Close()
	answer, err := db.ExecContext(context.Background(), query, args...)
	must(w.t, err)
	if n, err := answer.RowsAffected(); err != nil || n == 0 {
		w.t.Fatalf("%s: %d rows changed, %v", query, n, err)
	}
}

// blob returns the one value that a query selects.
func (w *world) blob(query string, args ...any) (b []byte) {
	w.t.Helper()
	db, err := sql.Open(w.driver(), w.db)
	must(w.t, err)
	defer db.Close()
	must(w.t, db.QueryRowContext(context.Background(), query, args...).Scan(&b))
	return b
}

// totals changes those of the first run.
func (w *world) totals(change func(*merge.RunState)) {
	w.t.Helper()
	var state agentpb.RecordState
	must(w.t, proto.Unmarshal(w.blob(`SELECT state FROM totals WHERE run = 1`), &state))
	var s merge.RunState
	must(w.t, proto.Unmarshal(state.Merged, &s))
	change(&s)
	var err error
	state.Merged, err = proto.Marshal(&s)
	must(w.t, err)
	b, err := proto.Marshal(&state)
	must(w.t, err)
	w.exec(`UPDATE totals SET state = $1 WHERE run = 1`, b)
}

// source changes the state of the first run's first executor.
func (w *world) source(change func(*merge.SourceState)) {
	w.t.Helper()
	var s merge.SourceState
	must(w.t, proto.Unmarshal(w.blob(`SELECT state FROM executors WHERE run = 1 AND executor = 0`), &s))
	change(&s)
	b, err := proto.Marshal(&s)
	must(w.t, err)
	w.exec(`UPDATE executors SET state = $1 WHERE run = 1 AND executor = 0`, b)
}

// part changes the first part of the first run's series, of an agent or merged.
func (w *world) part(agent string, change func(*wire.Batch)) {
	w.t.Helper()
	const where = ` WHERE id = (SELECT MIN(id) FROM series WHERE run = 1 AND agent = $1)`
	var b wire.Batch
	must(w.t, proto.Unmarshal(unpack(w.t, w.blob(`SELECT data FROM series`+where, agent)), &b))
	change(&b)
	data, err := proto.Marshal(&b)
	must(w.t, err)
	w.exec(`UPDATE series SET data = $2`+where, agent, packed(w.t, data))
}

// result changes the text of a run's.
func (w *world) result(number int, old, new string) {
	w.t.Helper()
	text := unpack(w.t, w.blob(`SELECT data FROM results WHERE run = $1`, number))
	if !bytes.Contains(text, []byte(old)) {
		w.t.Fatalf("the result has no %s", old)
	}
	w.exec(`UPDATE results SET data = $2 WHERE run = $1`, number, packed(w.t, bytes.Replace(text, []byte(old), []byte(new), 1)))
}

func unpack(t *testing.T, b []byte) []byte {
	t.Helper()
	data, err := codec(t).Unpack(b)
	must(t, err)
	return data
}

func packed(t *testing.T, b []byte) []byte {
	t.Helper()
	return codec(t).Pack(b)
}

func codec(t *testing.T) *compress.Codec {
	t.Helper()
	c, err := compress.New(compress.Largest)
	must(t, err)
	return c
}
