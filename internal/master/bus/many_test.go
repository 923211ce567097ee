//go:build unix

package bus

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/testing/long"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// TestFiveHundredAgents: all connect and their beats arrive; the log has what they cost the
// master. In make test there are fifty.
func TestFiveHundredAgents(t *testing.T) {
	w := newWorld(t, func(o *ServerOptions) { o.Log = nil })
	n := 50
	if long.Run {
		n = 500
	}
	before := heap()
	agents := make([]*AgentConn, n)
	begun := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for i := range agents {
		a, err := Dial(w.identity(t, fmt.Sprint("a", i)), AgentOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		if err := a.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		agents[i] = a
	}
	t.Logf("%d agents connected in %v; master and agents take %d KB each in this process", n, time.Since(begun), (heap()-before)/uint64(n)>>10)
	heard := make(chan string, 2*n) // with repeats of the first
	goes(t, func(ctx context.Context) error {
		return w.master.Watch(ctx, func(b *agentpb.Beat) { offer(heard, b.Agent) }, func(string) {})
	})
	eventually(t, 30*time.Second, "heard", func() bool {
		if err := agents[0].Beat(ctx, &agentpb.Beat{Agent: "a0"}); err != nil {
			t.Fatal(err)
		}
		return len(heard) > 0
	})
	for len(heard) > 0 {
		receive(t, heard)
	}
	used := cpu(t)
	begun = time.Now()
	var wg sync.WaitGroup
	for _, a := range agents {
		wg.Go(func() {
			if err := a.Beat(ctx, &agentpb.Beat{Agent: a.id, Hello: &agentpb.Hello{Name: a.id}}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all := map[string]bool{}
	for len(all) < n {
		select {
		case id := <-heard:
			all[id] = true
		case <-ctx.Done():
			t.Fatalf("%d of %d are heard", len(all), n)
		}
	}
	t.Logf("a beat of each in %v, %v of CPU with the agents'", time.Since(begun), cpu(t)-used)
}

// heap returns the bytes in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// cpu returns the CPU time of this process.
func cpu(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
