// Package equations checks that nothing vanishes from a run's counts, whatever its target does and
// however it ends:
//
//	iterations   planned = begun + dropped + unserved, begun = done + cut + void + lost
//	operations   begun = answered well + with a failure + unanswered, each of these with an age,
//	             but those that were lost with a dead executor
//	the server   answered <= its answers, seen <= begun + resent
//	averages     of values and rates are within their minimum and maximum
//	phases       the first two hold in the warm-up and in the measured phase, whose sums are the totals
package equations

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/binary"
)

// Target is a server that treats each request by chance: it answers well, with 500, late, never,
// or breaks the connection. It counts what it has seen and answered.
type Target struct {
	URL string

	late   time.Duration
	fails  float64 // share of requests that are answered with 500
	hangs  float64 // share that is never answered
	breaks float64 // share whose connection is closed without an answer

	mu             sync.Mutex
	rand           *rand.Rand // guarded by mu
	seen, ok, fail atomic.Int64
}

// NewTarget starts a server whose moods are chosen by chance. It is closed at the test's end.
func NewTarget(t *testing.T, choose *rand.Rand) *Target {
	t.Helper()
	share := func(of ...float64) float64 { return of[choose.IntN(len(of))] }
	x := &Target{late: time.Duration(choose.IntN(20)) * time.Millisecond, fails: share(0, 0.1), hangs: share(0, 0, 0.01), breaks: share(0, 0.05),
		rand: rand.New(rand.NewPCG(choose.Uint64(), 41))}
	s := httptest.NewServer(x)
	t.Cleanup(s.CloseClientConnections)
	x.URL = s.URL
	return x
}

func (x *Target) String() string {
	return fmt.Sprintf("late %v fails %v hangs %v breaks %v", x.late, x.fails, x.hangs, x.breaks)
}

// Seen returns how many requests have arrived.
func (x *Target) Seen() int64 { return x.seen.Load() }

// Await waits until a request has arrived, for five minutes at most: a master compiles when no other process
// wants the CPUs.
func (x *Target) Await(t *testing.T) {
	t.Helper()
	for until := time.Now().Add(5 * time.Minute); x.Seen() == 0; {
		if time.Now().After(until) {
			t.Fatal("no request reached the target")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (x *Target) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x.seen.Add(1)
	x.mu.Lock()
	mood, late := x.rand.Float64(), time.Duration(x.rand.ExpFloat64()*float64(x.late))
	x.mu.Unlock()
	time.Sleep(min(late, 5*x.late)) // the target's own time
	switch {
	case mood < x.hangs:
		<-r.Context().Done()
	case mood < x.hangs+x.breaks:
		panic(http.ErrAbortHandler)
	case mood < x.hangs+x.breaks+x.fails:
		x.fail.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	default:
		x.ok.Add(1)
	}
}

// Loads are flags of gobench http, each of a kind of load, and how many starts it has; 0 if its
// length decides.
var Loads = []struct {
	Flags  string
	Starts int64
}{
	{"-d 1s", 0}, {"-n 300", 300}, {"--rate 300 -d 1s", 300}, {"--rate 300 -d 1s --drop", 300}, {"--stage 100/300ms --stage 400/700ms --poisson", 0},
	{"--rate 200 -d 1s --warmup 300ms", 200}, {"-d 1s --disable-keepalive", 0},
}

// Check fails the test unless the equations hold for a run of gobench http with that target, whose
// result is a file of JSON. starts is how many it had to make; 0: not known. Of a run that lost an
// executor, what was lost was in flight: at most one request on each of users connections. It returns
// the result.
func Check(t *testing.T, path string, target *Target, starts, users int64, what string) *run.Result {
	t.Helper()
	r, measured, warmup := readSeries(t, path)
	what = fmt.Sprintf("%s, %s, target %v", what, r.State, target)
	equal(t, whole(r.Result), what+", the totals")
	if r.Complete { // else what was lost is in no interval
		equal(t, r, what)
		equal(t, measured, what+", the measured phase")
		equal(t, warmup, what+", the warm-up")
		totals(t, measured, what)
	}
	if lost := whole(r.Result).sums["http.error.lost"]; lost > users || lost > 0 && r.Complete {
		t.Errorf("%s: %d requests lost of %d users, complete %v", what, lost, users, r.Complete)
	}
	averages(t, r.Result, what)
	fromTarget(t, r, target, what)
	if got := max(measured.of(run.ClassPlanned), measured.of(run.ClassBegun)); starts > 0 && got != starts {
		t.Errorf("%s: %d starts, want %d", what, got, starts)
	}
	t.Logf("%s: %d begun, %d lost", what, r.of(run.OpBegun), whole(r.Result).sums["http.error.lost"])
	return r.Result
}

// series is a result with the sums of a phase of its series.
type series struct {
	*run.Result
	sums map[string]int64 // by title
}

// add adds counts to the sums.
func (s *series) add(records map[string]run.Record) {
	for title, r := range records {
		if r.Count != nil {
			s.sums[title] += *r.Count
		}
	}
}

// readSeries reads the result and the series of a JSON report: all of it, and its two phases.
func readSeries(t *testing.T, path string) (all, measured, warmup series) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Intervals []run.Interval }
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	r := binary.ReadResult(t, path)
	all, measured, warmup = series{r, map[string]int64{}}, series{r, map[string]int64{}}, series{r, map[string]int64{}}
	for _, i := range file.Intervals {
		all.add(i.Metrics)
		switch {
		case i.Phases != nil:
			measured.add(i.Phases.Measured)
			warmup.add(i.Phases.Warmup)
		case i.Warmup:
			warmup.add(i.Metrics)
		default:
			measured.add(i.Metrics)
		}
	}
	return all, measured, warmup
}

// whole returns a result with its totals as the sums.
func whole(r *run.Result) series {
	s := series{r, map[string]int64{}}
	for _, m := range r.Metrics {
		if m.Count != nil {
			s.sums[m.Title] = *m.Count
		}
	}
	return s
}

// of returns the sum of what the class or the operation http has counted in a role.
func (s series) of(role run.Role) int64 {
	if m := run.Find(s.Metrics, run.Counts{Role: role, Of: "http"}); m != nil {
		return s.sums[m.Title]
	}
	return 0
}

// equal fails the test unless what was counted agrees with itself.
func equal(t *testing.T, r series, what string) {
	t.Helper()
	begun, ok, fail, unanswered := r.of(run.OpBegun), r.of(run.OpOK), r.of(run.OpFailed), r.of(run.OpUnanswered)
	if planned, sum := r.of(run.ClassPlanned), r.of(run.ClassBegun)+r.of(run.ClassDropped)+r.of(run.ClassUnserved); planned > 0 && planned != sum {
		t.Errorf("%s: %d planned, %d begun, dropped or unserved", what, planned, sum)
	}
	if started, sum := r.of(run.ClassBegun), r.of(run.ClassDone)+r.of(run.ClassCut)+r.of(run.ClassVoid)+r.of(run.ClassLost); started != sum {
		t.Errorf("%s: %d iterations begun, %d ended", what, started, sum)
	}
	if sum := ok + fail + unanswered; begun != sum {
		t.Errorf("%s: %d begun, %d = %d + %d + %d ended", what, begun, sum, ok, fail, unanswered)
	}
	byClass, lost := int64(0), r.sums["http.error.lost"]
	for _, m := range r.Metrics {
		if m.Role == run.OpUnanswered && m.By == "error" {
			byClass += r.sums[m.Title]
		}
	}
	if ages := r.of(run.OpAge) + lost; ages != unanswered { // how old the lost ones were is unknown
		t.Errorf("%s: %d unanswered, %d ages", what, unanswered, ages)
	}
	if byClass != unanswered {
		t.Errorf("%s: %d unanswered, %d by class", what, unanswered, byClass)
	}
}

// fromTarget fails the test unless a result agrees with what its target counted.
func fromTarget(t *testing.T, r series, target *Target, what string) {
	t.Helper()
	begun, ok, fail, resent := r.of(run.OpBegun), r.of(run.OpOK), r.of(run.OpFailed), r.of(run.OpResent)
	if r.Complete && begun == 0 {
		t.Errorf("%s: none begun", what)
	}
	if ok > target.ok.Load() || fail > target.fail.Load() || r.Complete && target.seen.Load() > begun+resent {
		t.Errorf("%s: %d begun, %d resent, %d + %d answered; the server saw %d and answered %d + %d", what, begun, resent, ok, fail, target.seen.Load(), target.ok.Load(), target.fail.Load())
	}
}

// averages fails the test unless each average is within its minimum and maximum: of a histogram its
// values, of a counter's rate the rates of the whole intervals of the load.
func averages(t *testing.T, r *run.Result, what string) {
	t.Helper()
	for _, m := range r.Metrics {
		if x := m.Times; x != nil && (x.Avg < x.Min || x.Avg > x.Max) {
			t.Errorf("%s: %s is %v on average, of %v to %v ms", what, m.Title, x.Avg, x.Min, x.Max)
		}
		if x := m.Sizes; x != nil && (x.Avg < x.Min || x.Avg > x.Max) {
			t.Errorf("%s: %s is %v on average, of %v to %v", what, m.Title, x.Avg, x.Min, x.Max)
		}
		if m.Spread != nil && m.RPS != nil && *m.RPS > m.Spread.Max {
			t.Errorf("%s: %s has %v a second, and %v at most", what, m.Title, *m.RPS, m.Spread.Max)
		}
	}
}

// totals fails the test unless the totals are the sums of the measured phase.
func totals(t *testing.T, r series, what string) {
	t.Helper()
	for _, m := range r.Metrics {
		if m.Count != nil && m.Role != run.Own && *m.Count != r.sums[m.Title] {
			t.Errorf("%s: %s is %d, and the series of the measured phase adds up to %d", what, m.Title, *m.Count, r.sums[m.Title])
		}
	}
}
