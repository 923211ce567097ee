package bus

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// childEnv makes this binary a master that does nothing, to be killed.
const childEnv = "GOBENCH_TEST_MASTER"

// child has the options of such a master.
type child struct {
	Dir, Listen string
	Seed        []byte
	Agents      map[string]string
}

func TestMain(m *testing.M) {
	if text := os.Getenv(childEnv); text != "" {
		os.Exit(beMaster(text))
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given { // the tests wait more than they compute
		_ = flag.Set("test.parallel", "8")
	}
	os.Exit(m.Run())
}

// beMaster prints its address and waits to be killed.
func beMaster(text string) int {
	var c child
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		fmt.Println(err)
		return 1
	}
	s, err := Serve(context.Background(), ServerOptions{Dir: c.Dir, Listen: c.Listen, Times: testTimes,
		Authorize: func(key string) (string, bool) { id, ok := c.Agents[key]; return id, ok }})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if _, err := Master(context.Background(), MasterOptions{Server: s, Seed: c.Seed}); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("at " + s.Addresses()[0])
	_, _ = os.Stdin.Read(make([]byte, 1)) // ends with the test, if that does not kill it
	return 0
}

// spawn starts a master in a separate process, and returns a function that kills it.
func (c child) spawn(t *testing.T) (addr string, kill func()) {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill() // SIGKILL
		_ = cmd.Wait()
		in.Close()
	})
	t.Cleanup(kill)
	line, _ := bufio.NewReader(out).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "at ")
	if !ok {
		t.Fatalf("the master did not start: %q", line)
	}
	return addr, kill
}

// TestMasterIsKilled: F14, for the bus. All deliveries that Deliver has returned for exist
// after a SIGKILL in the middle, in order, and no others.
func TestMasterIsKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.identity(t, "a1")
	w.stop()
	c := child{Dir: w.dir, Listen: w.server.Addresses()[0], Seed: w.seed, Agents: w.agents}
	_, kill := c.spawn(t)
	a := dial(t, i)
	const all = 300
	sent := make(chan error, 1)
	at := make(chan uint64, all)
	go func() {
		for n := range uint64(all) {
			if err := a.Deliver(t.Context(), &agentpb.Delivery{Agent: "a1", Run: "r", Number: n + 1, What: &agentpb.Delivery_Batch{Batch: make([]byte, 8<<10)}}); err != nil {
				sent <- err
				return
			}
			at <- n
		}
		sent <- nil
	}()
	for range 2 {
		eventually(t, 30*time.Second, "deliveries on their way", func() bool { return len(at) > 50 })
		kill()
		for len(at) > 0 {
			<-at
		}
		_, kill = c.spawn(t)
	}
	go func() { // the rest
		for range at {
		}
	}()
	err := receive(t, sent)
	close(at)
	if err != nil {
		t.Fatal(err)
	}
	kill()
	begun := time.Now()
	w.start(t, func(o *ServerOptions) { o.Listen = c.Listen })
	t.Logf("back after %v", time.Since(begun))
	got := make(chan uint64, 2*all)
	goes(t, func(ctx context.Context) error {
		return w.master.Deliveries(ctx, func(d *agentpb.Delivery, r agentpb.Receipt) error { offer(got, d.Number); r.Done(); return nil })
	})
	repeats, next := 0, uint64(1)
	for next <= all {
		select {
		case n := <-got:
			switch {
			case n == next:
				next++
			case n < next:
				repeats++
			default:
				t.Fatalf("%d came, and %d has not", n, next)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%d does not come", next)
		}
	}
	t.Logf("%d repeats", repeats)
}

// TestWhatIsNotDoneComesAgain after a restart: deliveries were taken but not done when the
// master ended.
func TestWhatIsNotDoneComesAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.dial(t, "a1")
	for n := range uint64(4) {
		if err := a.Deliver(t.Context(), &agentpb.Delivery{Agent: "a1", Run: "r", Number: n + 1}); err != nil {
			t.Fatal(err)
		}
	}
	got := make(chan uint64, 100)
	stop := goes(t, func(ctx context.Context) error {
		return w.master.Deliveries(ctx, func(d *agentpb.Delivery, r agentpb.Receipt) error {
			if d.Number == 2 {
				r.Done() // and no other
			}
			offer(got, d.Number)
			return nil
		})
	})
	for n := range uint64(4) {
		if d := receive(t, got); d != n+1 {
			t.Errorf("delivery %d came as the %d.", d, n+1)
		}
	}
	stop()
	w.stop()
	w.start(t, func(o *ServerOptions) { o.Listen = w.server.Addresses()[0] })
	goes(t, func(ctx context.Context) error {
		return w.master.Deliveries(ctx, func(d *agentpb.Delivery, r agentpb.Receipt) error { offer(got, d.Number); return nil })
	})
	for _, want := range []uint64{1, 3, 4} {
		if d := receive(t, got); d != want {
			t.Errorf("after the restart %d came, want %d", d, want)
		}
	}
	// And again after a while, as none of them is done.
	begun := time.Now()
	if d := receive(t, got); d != 1 || time.Since(begun) < testTimes.Redeliver/2 {
		t.Errorf("%d came again after %v", d, time.Since(begun))
	}
}
