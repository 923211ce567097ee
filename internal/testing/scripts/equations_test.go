package scripts

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
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
//	iterations   planned = begun + dropped + unserved, begun = done + cut + void
//	operations   begun = answered well + with a failure + unanswered, each of these with an age
//	the server   answered <= its answers, seen <= begun + resent
func TestEquations(t *testing.T) {
	seeds := 8
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
			args := append([]string{"--dir", dir, "http", "-q", "-c", fmt.Sprint(1 + choose.IntN(20)), "--timeout", "1500ms", "-o", out},
				one("-d 1s", "-n 300", "--rate 300 -d 1s", "--rate 300 -d 1s --drop", "--stage 100/300ms --stage 400/700ms --poisson", "--rate 200 -d 1s --warmup 300ms", "-d 1s --disable-keepalive")...)
			args = append(args, one("", "--resend", "--graceful-stop 200ms")...)
			end := choose.IntN(4) // 0: Ctrl-C, 1: twice, else its own
			cmd := binary.Command(t, append(args, s.URL)...)
			var printed strings.Builder
			cmd.Stdout, cmd.Stderr = &printed, &printed
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if end < 2 {
				interrupt(t, cmd, target, end+1)
			}
			_ = cmd.Wait() // the result says how it ended
			r := binary.ReadResult(t, out)
			what := fmt.Sprintf("%v, ended by %d, %s, target late %v fails %v hangs %v breaks %v", args[4:], end, r.State, target.late, target.fails, target.hangs, target.breaks)
			equal(t, r, target, what)
		})
	}
}

// interrupt sends a signal to a run once its load has reached the target, so many times.
func interrupt(t *testing.T, cmd *exec.Cmd, target *moody, times int) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); target.seen.Load() == 0 && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
	for i := range times {
		if i > 0 {
			time.Sleep(300 * time.Millisecond) // between two presses of a key
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Log(err) // it has ended meanwhile
		}
	}
}

// equal fails the test unless a result agrees with itself and with what its target counted.
func equal(t *testing.T, r *run.Result, target *moody, what string) {
	t.Helper()
	warm := r.Warmup > 0 // the totals leave it out, and it is in the server's log
	of := func(role run.Role, owner string) int64 {
		m := run.Find(r.Metrics, run.Counts{Role: role, Of: owner})
		if m == nil || m.Count == nil {
			return 0
		}
		return *m.Count
	}
	if !r.Complete || !warm && of(run.OpBegun, "http") == 0 {
		t.Errorf("%s: complete %v, %d begun: %v", what, r.Complete, of(run.OpBegun, "http"), r.Missing)
	}
	class := func(role run.Role) int64 { return of(role, "http") }
	if planned, sum := class(run.ClassPlanned), class(run.ClassBegun)+class(run.ClassDropped)+class(run.ClassUnserved); !warm && planned > 0 && planned != sum {
		t.Errorf("%s: %d planned, %d begun, dropped or unserved", what, planned, sum)
	}
	if begun, sum := class(run.ClassBegun), class(run.ClassDone)+class(run.ClassCut)+class(run.ClassVoid); !warm && begun != sum {
		t.Errorf("%s: %d iterations begun, %d ended", what, begun, sum)
	}
	begun, ok, fail, unanswered := of(run.OpBegun, "http"), of(run.OpOK, "http"), of(run.OpFailed, "http"), of(run.OpUnanswered, "http")
	if sum := ok + fail + unanswered; !warm && begun != sum {
		t.Errorf("%s: %d begun, %d = %d + %d + %d ended", what, begun, sum, ok, fail, unanswered)
	}
	if ages := of(run.OpAge, "http"); ages != unanswered {
		t.Errorf("%s: %d unanswered, %d ages", what, unanswered, ages)
	}
	byClass := int64(0)
	for _, m := range r.Metrics {
		if m.Role == run.OpUnanswered && m.By == "error" && m.Count != nil {
			byClass += *m.Count
		}
	}
	if byClass != unanswered {
		t.Errorf("%s: %d unanswered, %d by class", what, unanswered, byClass)
	}
	if !warm && (ok > target.ok.Load() || fail > target.fail.Load() || target.seen.Load() > begun+of(run.OpResent, "http")) {
		t.Errorf("%s: %d begun, %d resent, %d + %d answered; the server saw %d and answered %d + %d", what, begun, of(run.OpResent, "http"), ok, fail, target.seen.Load(), target.ok.Load(), target.fail.Load())
	}
}
