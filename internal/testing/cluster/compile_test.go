//go:build linux

package cluster

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/long"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// compiled has the master compile a scenario, so that it need not do that again, and then
// restarts the master with further flags and variables. Its temporary folder, and so what
// it compiles in, is the cluster's.
func compiled(t *testing.T, c *Cluster, small load, env []string, flags ...string) {
	t.Helper()
	if r := c.Finished(t, c.start(t, small, run.Options{}), 2*time.Minute); r.State != run.Finished {
		t.Fatalf("the run is %s (%s)", r.State, r.Cause)
	}
	c.Settle(t)
	c.Master.Kill()
	c.Master.Process.Args = append(slices.Clip(c.Master.Process.Args), flags...)
	c.Master.env = append(slices.Clip(c.Master.env), append(env, "TMPDIR="+c.work)...)
	c.Master.Begin(t)
	c.Back(t)
	c.AwaitAgent(t, c.Agents[0], "ready", time.Minute)
}

// compiling names the processes that have a cluster's folder in their environment: those that
// a compile has left.
func (c *Cluster) compiling(t *testing.T) string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, p := range all {
		env, _ := os.ReadFile(filepath.Join(p, "environ")) // it may have ended
		if filepath.Base(p) != fmt.Sprint(c.Master.Pid()) && strings.Contains(string(env), c.work) {
			line, _ := os.ReadFile(filepath.Join(p, "cmdline"))
			found = append(found, filepath.Base(p)+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	if found == nil {
		return ""
	}
	return fmt.Sprintf("processes are left: %q", found)
}

// refused awaits a run that a limit of the compiler ends, and then the one that is next in
// the queue, which has to begin at once.
func (c *Cluster) refused(t *testing.T, id, next, limit string) {
	t.Helper()
	o := c.Await(t, id, 2*time.Minute, run.Failed)
	t.Logf("failed %v after it was submitted: %s", o.Ended.Sub(o.Created).Round(time.Millisecond), o.Cause)
	if !strings.Contains(o.Cause, "it took more than its "+limit) {
		t.Errorf("the cause is %q, want the %s", o.Cause, limit)
	}
	c.follows(t, o, next)
}

// follows awaits the run after one that was ended as it was compiled.
func (c *Cluster) follows(t *testing.T, before run.Order, next string) {
	t.Helper()
	o := c.Await(t, next, time.Minute, run.Finished)
	t.Logf("the next run began %v after it", o.Started.Sub(before.Ended).Round(time.Millisecond))
	Eventually(t, 30*time.Second, func() string { return c.compiling(t) })
	if left, err := filepath.Glob(filepath.Join(c.work, "gobench-*")); err != nil || len(left) > 0 {
		t.Errorf("the compiler left %q (%v)", left, err)
	}
}

// huge has so much data that its executor would be larger than one may be.
func huge() string {
	return program + "\nvar big = [300 << 20]byte{1}\n\nfunc init() { println(&big) }\n"
}

// F41: when a source makes the compiler run, allocate or write without end, the compiler is
// ended at its limit. The run's cause names the limit, and the next run begins at once.
func TestCompilerLimits(t *testing.T) {
	t.Parallel()
	c, target := NewHere(t, 1), NewTarget(t)
	small := requests(target.URL, 1, 0, 1, 0)
	if long.Run { // internal/build has both limits with less memory
		compiled(t, c, small, nil)
		for _, tt := range []struct{ source, limit string }{
			{servers.HungryToCompile(program), "memory limit of 2 GiB"},
			{huge(), "output limit of 256 MiB"},
		} {
			id, next := c.Submit(t, tt.source, run.Options{}, small.file(t)), c.start(t, small, run.Options{})
			c.refused(t, id, next, tt.limit)
		}
	}
	compiled(t, c, small, nil, "--compile-limit", "3s")
	id, next := c.Submit(t, servers.SlowToCompile(program), run.Options{}, small.file(t)), c.start(t, small, run.Options{})
	c.refused(t, id, next, "time limit of 3s")
	c.Check(t, nil)
}

// F42: a proxy of modules that never answers holds a run up until it is cancelled, or until
// the time of a compile is over, and no other run.
func TestProxyNeverAnswers(t *testing.T) {
	t.Parallel()
	c, target := NewHere(t, 1), NewTarget(t)
	small := requests(target.URL, 1, 0, 1, 0)
	proxy, asked := silent(t)
	compiled(t, c, small, []string{"GOPROXY=" + proxy, "GOSUMDB=off"}, "--compile-limit", "4s")
	hangs := strings.Replace(program, "import (", "import (\n\t_ \"example.com/thing\"", 1)

	id, next := c.Submit(t, hangs, run.Options{}, small.file(t)), c.start(t, small, run.Options{})
	<-asked
	began := time.Now()
	c.Do(t, "POST", "/api/v1/runs/"+id+"/cancel", nil, nil)
	o := c.Await(t, id, 30*time.Second, run.Cancelled)
	t.Logf("cancelled after %v", time.Since(began).Round(time.Millisecond))
	c.follows(t, o, next)

	id, next = c.Submit(t, hangs, run.Options{}, small.file(t)), c.start(t, small, run.Options{})
	<-asked
	c.refused(t, id, next, "time limit of 4s (step: finding module for package example.com/thing)")
	c.Check(t, nil)
}

// silent starts a server that accepts connections and never writes. The channel receives a
// value for each connection.
func silent(t *testing.T) (url string, asked <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan struct{}, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			accepted <- struct{}{}
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return "http://" + l.Addr().String(), accepted
}
