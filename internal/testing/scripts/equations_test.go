package scripts

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/long"
)

// moody is a target that treats each request by chance: it answers well, with 500, late, never,
// or breaks the connection. It counts what it has seen and answered.
type moody struct {
	late   time.Duration
	fails  float64 // share of requests that are answered with 500
	hangs  float64 // share that is never answered
	breaks float64 // share whose connection is closed without an answer
	rand   *rand.Rand

	turn           chan struct{} // held while rand is used
	seen, ok, fail atomic.Int64
}

func (m *moody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.seen.Add(1)
	m.turn <- struct{}{}
	mood, late := m.rand.Float64(), time.Duration(m.rand.ExpFloat64()*float64(m.late))
	<-m.turn
	time.Sleep(min(late, 5*m.late)) // the target's own time
	switch {
	case mood < m.hangs:
		<-r.Context().Done()
	case mood < m.hangs+m.breaks:
		panic(http.ErrAbortHandler)
	case mood < m.hangs+m.breaks+m.fails:
		m.fail.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	default:
		m.ok.Add(1)
	}
}

// TestEquations: nothing vanishes, whatever the target does and however the run ends.
//
//	iterations   planned = begun + dropped + unserved, begun = done + cut + void + lost
//	operations   begun = answered well + with a failure + unanswered, each of these with an age,
//	             but those that were lost with a killed executor
//	the server   answered <= its answers, seen <= begun + resent
//	phases       the first two hold in the warm-up and in the measured phase, whose sums are the totals
func TestEquations(t *testing.T) {
	seeds := 30
	if long.Run {
		seeds = 100
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			choose := rand.New(rand.NewPCG(uint64(seed), 14))
			one := func(of ...string) []string { return strings.Fields(of[choose.IntN(len(of))]) }
			share := func(of ...float64) float64 { return of[choose.IntN(len(of))] }
			target := &moody{late: time.Duration(choose.IntN(20)) * time.Millisecond, fails: share(0, 0.1), hangs: share(0, 0, 0.01), breaks: share(0, 0.05),
				rand: rand.New(rand.NewPCG(uint64(seed), 41)), turn: make(chan struct{}, 1)}
			s := httptest.NewUnstartedServer(target)
			s.Config.ErrorLog = nil
			s.Start()
			t.Cleanup(s.CloseClientConnections)
			dir := t.TempDir()
			out := filepath.Join(dir, "r.json")
			load := one("-d 1s", "-n 300", "--rate 300 -d 1s", "--rate 300 -d 1s --drop", "--stage 100/300ms --stage 400/700ms --poisson", "--rate 200 -d 1s --warmup 300ms", "-d 1s --disable-keepalive")
			args := append([]string{"--dir", dir, "http", "-q", "-c", fmt.Sprint(1 + choose.IntN(20)), "--timeout", "1500ms", "--interval", "100ms", "-o", out}, load...)
			args = append(args, one("", "--resend", "--graceful-stop 200ms")...)
			end := one("Ctrl-C", "Ctrl-C-twice", "SIGTERM", "SIGKILL", "itself", "itself", "itself", "itself")[0]
			cmd := binary.Command(t, append(args, s.URL)...)
			var printed strings.Builder
			cmd.Stdout, cmd.Stderr = &printed, &printed
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			endLoad(t, cmd, target, end, time.Duration(choose.IntN(900))*time.Millisecond)
			_ = cmd.Wait() // the result says how it ended
			if _, err := os.Stat(out); err != nil {
				t.Fatalf("%v ended by %s left no result:\n%s", args[4:], end, printed.String())
			}
			r, measured, warmup := readSeries(t, out)
			what := fmt.Sprintf("%v, ended by %s, %s, target late %v fails %v hangs %v breaks %v", args[4:], end, r.State, target.late, target.fails, target.hangs, target.breaks)
			t.Logf("%s: %d begun, %d lost", what, r.of(run.OpBegun), whole(r.Result).sums["http.error.lost"])
			equal(t, whole(r.Result), what+", the totals")
			if r.Complete { // else what was lost is in no interval
				equal(t, r, what)
				equal(t, measured, what+", the measured phase")
				equal(t, warmup, what+", the warm-up")
				totals(t, measured, what)
			}
			if killed := end == "SIGKILL" && r.State == run.Failed; r.Complete == killed {
				t.Errorf("%s: complete %v, missing %q", what, r.Complete, r.Missing)
			}
			fromTarget(t, r, target, what)
			asked := map[string]int64{"-n 300": 300, "--rate 300 -d 1s": 300, "--rate 300 -d 1s --drop": 300, "--rate 200 -d 1s --warmup 300ms": 200}[strings.Join(load, " ")]
			if got := max(measured.of(run.ClassPlanned), measured.of(run.ClassBegun)); end == "itself" && asked > 0 && got != asked {
				t.Errorf("%s: %d starts, want %d", what, got, asked)
			}
		})
	}
}

// endLoad ends a run in one of the ways of TestEquations once its load has reached the target: by
// Ctrl-C, or by a signal to its executor after a while.
func endLoad(t *testing.T, cmd *exec.Cmd, target *moody, how string, after time.Duration) {
	t.Helper()
	if how == "itself" {
		return
	}
	for until := time.Now().Add(20 * time.Second); target.seen.Load() == 0 && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
	send := func(p *os.Process, s os.Signal) {
		if err := p.Signal(s); err != nil {
			t.Log(err) // it has ended meanwhile
		}
	}
	switch how {
	case "Ctrl-C":
		send(cmd.Process, os.Interrupt)
	case "Ctrl-C-twice":
		send(cmd.Process, os.Interrupt)
		time.Sleep(300 * time.Millisecond) // between two presses of a key
		send(cmd.Process, os.Interrupt)
	default:
		time.Sleep(after) // into the load
		for _, p := range children(t, cmd.Process.Pid) {
			send(p, map[string]os.Signal{"SIGTERM": syscall.SIGTERM, "SIGKILL": syscall.SIGKILL}[how])
		}
	}
}

// children returns the processes that a process has started and that have not ended.
func children(t *testing.T, pid int) (all []*os.Process) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		b, _ := os.ReadFile(thread) // the thread may have ended
		for _, field := range strings.Fields(string(b)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			p, err := os.FindProcess(child)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, p)
		}
	}
	return all
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
func fromTarget(t *testing.T, r series, target *moody, what string) {
	t.Helper()
	begun, ok, fail, resent := r.of(run.OpBegun), r.of(run.OpOK), r.of(run.OpFailed), r.of(run.OpResent)
	if r.Complete && begun == 0 {
		t.Errorf("%s: none begun", what)
	}
	if ok > target.ok.Load() || fail > target.fail.Load() || r.Complete && target.seen.Load() > begun+resent {
		t.Errorf("%s: %d begun, %d resent, %d + %d answered; the server saw %d and answered %d + %d", what, begun, resent, ok, fail, target.seen.Load(), target.ok.Load(), target.fail.Load())
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
