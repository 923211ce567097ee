//go:build unix

package process_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/process"
	"github.com/gobench-io/gobench/internal/testing/long"
)

// F4: whenever it is killed, what its batches brought is there to the last one, and
// the gap is named.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	n := 40
	if long.Run {
		n = 200
	}
	for n := range n {
		wait := time.Duration(r.Int64N(int64(600 * time.Millisecond)))
		sig := []syscall.Signal{syscall.SIGKILL, syscall.SIGSEGV}[n%2]
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			got := new(tally)
			e := process.New(spec("long", got))
			go func() {
				<-got.started
				time.Sleep(wait)
				_ = syscall.Kill(int(got.hello.Pid), sig)
			}()
			err := e.Run(t.Context())
			var dead *process.DeadError
			if !errors.As(err, &dead) || sig == syscall.SIGKILL && !strings.Contains(dead.How, "signal 9") {
				t.Fatalf("error %v", err)
			}
			if len(got.merger.Missing()) != 1 {
				t.Errorf("missing = %v", got.merger.Missing())
			}
			var sum int64
			for _, i := range got.merger.Intervals(true) {
				if c := i.Metrics["ticks"].Count; c != nil {
					sum += *c
				}
			}
			if n := max(got.total("ticks"), 0); n != sum {
				t.Errorf("total %d, intervals add up to %d", n, sum)
			}
		})
	}
}
