//go:build long && linux

package truth

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/binary"
)

var (
	boundsRuns = flag.Int("bounds-runs", 20, "runs of TestBounds")
	boundsSeed = flag.Uint64("bounds-seed", 1, "seed of the first of them")
)

// Random runs, of which something disturbs most, against a server that knows the truth: figures
// are within their bounds, and verdicts as deserved.
func TestBounds(t *testing.T) {
	figures, outside, milder, harsher := 0, 0, 0, 0
	for i := range *boundsRuns {
		seed := *boundsSeed + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r, w, what, rate := randomRun(t, seed)
			title, truth := "http.latency", w.latencies()
			if rate > 0 {
				title, truth = "vu.http.response", w.responses(rate)
			}
			all, deserved := compare(t, r.Result, title, truth)
			bad := 0
			for _, c := range all {
				figures++
				if !c.inside() {
					bad++
					outside++
					t.Logf("%s: %v", what, c)
				}
			}
			t.Logf("%s: %s, deserved %s, %d of %d figures outside; %v; %v; %d of %d requests without a stamp", what, r.Verdict, deserved, bad, len(all), all[0], all[min(3, len(all)-1)], w.lacks, len(w.all))
			switch {
			case deserved.Worse(r.Verdict):
				milder++
				if deserved == run.Invalid {
					t.Errorf("%s: %s because of %+v, deserved %s", what, r.Verdict, r.Reasons, deserved)
				}
			case r.Verdict.Worse(deserved):
				harsher++
			}
		})
	}
	t.Logf("%d of %d figures outside their bounds; of %d verdicts %d milder than deserved, %d harsher", outside, figures, *boundsRuns, milder, harsher)
	if outside*100 > figures+50 {
		t.Error("more than 1 % of the figures are outside their bounds")
	}
	if milder > (*boundsRuns+199)/200 {
		t.Errorf("%d verdicts are milder than deserved", milder)
	}
}

// randomRun makes a run that a seed describes. rate is that of an open load, 0 of a closed one.
func randomRun(t *testing.T, seed uint64) (m *measured, w *witness, what string, rate float64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 3))
	mean := []time.Duration{time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond}[r.IntN(4)]
	args := []string{"http", "-d", "6s"}
	before, servers := "", 0
	if r.IntN(3) == 0 {
		users := []int{1, 10, 50}[r.IntN(3)]
		what = fmt.Sprintf("%d users, %v", users, mean)
		args = append(args, "-c", fmt.Sprint(users))
	} else {
		rate = []float64{50, 200, 500, 1000}[r.IntN(4)]
		if r.IntN(2) == 0 {
			servers = 1 + r.IntN(4)
			mean = min(mean, time.Duration((0.3+0.4*r.Float64())*float64(servers)/rate*1e9))
		}
		what = fmt.Sprintf("%v/s, %v, %d servers", rate, mean, servers)
		args = append(args, "-c", "300", "--rate", fmt.Sprint(rate))
	}
	w = newWitness(t, r, mean, servers)
	during := func(int) {}
	switch disturbance := r.IntN(6); disturbance {
	case 0:
		what += ", undisturbed"
	case 1, 2:
		n := 1 + r.IntN(4)
		what += fmt.Sprintf(", %d stops", n)
		during = func(gobench int) {
			executor, err := binary.Child(gobench)
			if err != nil {
				t.Fatal(err)
			}
			for range n {
				time.Sleep(time.Duration(r.Int64N(int64(5*time.Second) / int64(n))))
				stopFor(executor, 5*time.Millisecond+time.Duration(r.ExpFloat64()*float64(100*time.Millisecond)))
			}
		}
	case 3:
		n := 1 + r.IntN(4)
		what += fmt.Sprintf(", %d neighbours", n)
		during = func(int) {
			end := neighbours(t, n)
			t.Cleanup(end)
			time.Sleep(time.Duration(r.Int64N(int64(5 * time.Second))))
			end()
		}
	case 4:
		what += ", a quota"
		before = withQuota(t)
	case 5:
		if rate == 0 {
			what += ", 1,000 users on one CPU"
			args = append(args, "-c", "1000", "-t", "1")
			before = "ulimit -n 4096;"
		} else {
			what += ", garbage collected all the time"
			before = "export GOGC=1;"
		}
	}
	args = append(args, w.url)
	return measure(t, before, during, args...), w, what, rate
}
