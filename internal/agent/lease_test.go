//go:build linux

package agent_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/agent"
	"github.com/gobench-io/gobench/internal/process/processtest"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

func renew(lease time.Duration) *agentpb.Command {
	return &agentpb.Command{Run: aRun, Epoch: 1, What: &agentpb.Command_Renew{Renew: &agentpb.Renew{LeaseNs: int64(lease)}}}
}

// stopping reports whether an executor has stopped its load.
func stopping(all []*agentpb.Delivery) bool {
	return slices.ContainsFunc(all, func(d *agentpb.Delivery) bool { return d.GetStopping() > 0 })
}

// renewed starts a load whose first lease is short and renews it. It returns nil if the load
// stopped in one and a half times the first lease.
func renewed(t *testing.T, lease time.Duration) (*host, []*wire.Hello) {
	h := start(t, agent.Options{})
	hellos := h.must(h.prepare("long", 2)).Hellos
	h.must(arm(hellos, 0))
	h.must(begin(time.Now(), lease))
	for began := time.Now(); time.Since(began) < 3*lease/2; {
		h.must(renew(time.Minute))
		time.Sleep(50 * time.Millisecond) // as the master does, each second
	}
	if stopping(h.of(aRun)) {
		return nil, nil
	}
	return h, hellos
}

// F9: a load continues while it is renewed, and stops by itself when it is not. What it
// counted and how it ended are delivered.
func TestLeaseRunsOut(t *testing.T) {
	t.Parallel()
	lease := 2 * time.Second
	h, hellos := renewed(t, lease)
	for h == nil {
		if lease *= 2; lease > 32*time.Second { // a busy host is too late for a short one
			t.Fatal("the load stopped though it was renewed")
		}
		h, hellos = renewed(t, lease)
	}
	last := time.Now()
	h.must(renew(lease))
	h.until("the load stops", func() bool { return stopping(h.of(aRun)) })
	if took := time.Since(last); took < lease {
		t.Errorf("it stopped after %v, the lease is %v", took, lease)
	}
	all := h.over()
	if _, missing := merged(t, all, 2, "ticks"); missing != 0 {
		t.Errorf("%d pieces are missing", missing)
	}
	for n, e := range ended(all) {
		if e.Cause != agent.CauseLease || e.Error != "" {
			t.Errorf("executor %d: %v", n, e)
		}
	}
	if text := notes(all); !strings.Contains(text, fmt.Sprintf("did not renew the lease of %v", lease)) {
		t.Errorf("notes:\n%s", text)
	}
	h.clean(hellos)
}

// A master that prepares a run and is not heard of again leaves nothing behind.
func TestAForgottenRun(t *testing.T) {
	t.Parallel()
	times := quick()
	times.Idle = time.Second
	h := start(t, agent.Options{Times: times})
	hellos := h.must(h.prepare("long", 2)).Hellos
	h.must(arm(hellos, 0))
	began := time.Now()
	all := h.over()
	if took := time.Since(began); took < times.Idle/2 {
		t.Errorf("it was given up after %v", took)
	}
	for n, e := range ended(all) {
		if e.Cause != agent.CauseLease {
			t.Errorf("executor %d: %v", n, e)
		}
	}
	if text := notes(all); !strings.Contains(text, "sent nothing about it for 1s") {
		t.Errorf("notes:\n%s", text)
	}
	h.clean(hellos)
}

// listener counts the bytes that a load says to it.
type listener struct {
	addr string
	n    atomic.Int64
}

func listen(t *testing.T) *listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	out := &listener{addr: l.Addr().String()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				b := make([]byte, 1<<10)
				for {
					n, err := c.Read(b)
					out.n.Add(int64(n))
					if err != nil {
						return
					}
				}
			}()
		}
	}()
	return out
}

// F5: the agent is killed. Its executors die with it; what it had not delivered
// comes from its next process, then how its executors ended, then Over.
func TestTheAgentIsKilled(t *testing.T) {
	t.Parallel()
	dir, folder := t.TempDir(), work(t)
	target := listen(t)
	env := []string{agentEnv + "=" + dir, workEnv + "=" + folder}
	c := spawn(t, append(env, loadEnv+"=calling", processtest.ListenEnv+"="+target.addr)...)
	wait(t, "the load goes on", func() bool { return len(c.lines("delivery")) >= 10 && len(c.lines("executor")) == 2 })
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids(c.lines("executor")) {
		processtest.Gone(t, pid)
	}
	_ = c.cmd.Wait() // it was killed
	before := c.lines("delivery")
	if left, err := os.ReadDir(folder); err != nil || len(left) == 0 {
		t.Fatalf("the test is about what a killed agent leaves, and it left %v %v", left, err)
	}
	again := spawn(t, env...)
	wait(t, "the next life delivers all", func() bool {
		all := again.lines("delivery")
		return len(all) > 0 && strings.Contains(all[len(all)-1], "Over")
	})
	after := again.lines("delivery")
	if len(after) < len(before)+4 || strings.Join(after[:len(before)], "\n") != strings.Join(before, "\n") {
		t.Errorf("before:\n%s\nafter:\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	if n := strings.Count(strings.Join(after, "\n"), "Ended ended with its agent"); n != 2 {
		t.Errorf("the end of %d executors is told:\n%s", n, strings.Join(after, "\n"))
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("private folders %v are left, %v", left, err)
	}
}

// F5: what a killed agent leaves, and no death signal ends, is killed before the next
// process of the agent takes commands.
func TestLeftoversAreReaped(t *testing.T) {
	t.Parallel()
	dir, folder := t.TempDir(), work(t)
	env := []string{agentEnv + "=" + dir, workEnv + "=" + folder}
	c := spawn(t, append(env, loadEnv+"=reparented", commitEnv+"=1")...)
	var daemons []int
	wait(t, "daemons are there", func() bool {
		daemons = nil
		for _, text := range glob(t, folder+"/*/home/daemon-*") {
			var pid int
			if n, _ := fmt.Sscanf(text[strings.LastIndex(text, "daemon-"):], "daemon-%d", &pid); n == 1 {
				daemons = append(daemons, pid)
			}
		}
		return len(daemons) == 4 // two of each executor
	})
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait() // it was killed
	for _, pid := range daemons {
		if syscall.Kill(pid, 0) != nil {
			t.Fatalf("daemon %d ended with the agent: it shows nothing", pid)
		}
	}
	again := spawn(t, append(env, commitEnv+"=1")...)
	wait(t, "the next life is ready", func() bool {
		again.mu.Lock()
		defer again.mu.Unlock()
		return len(again.out) > 0
	})
	for _, pid := range daemons {
		processtest.Gone(t, pid)
	}
	if left := glob(t, folder+"/*"); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}

// F6: the agent hangs. Its executors notice that their lease is not renewed and stop the
// load; when it continues, all that they counted is delivered, once.
func TestTheAgentHangs(t *testing.T) {
	t.Parallel()
	target := listen(t)
	folder := work(t)
	c := spawn(t, agentEnv+"="+t.TempDir(), workEnv+"="+folder, loadEnv+"=calling", processtest.ListenEnv+"="+target.addr, commitEnv+"=1", ledgersEnv+"="+t.TempDir())
	wait(t, "the load goes on", func() bool { return len(c.lines("delivery")) >= 5 })
	if err := c.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	wait(t, "the load stops by itself", func() bool { // each executor writes its last batch to its ledger
		return countLast(t, glob(t, folder+"/*/home/.gobench-ledgers/*.batches")) == 2
	})
	if took := time.Since(stopped); took < time.Second {
		t.Errorf("it stopped after %v, where the lease was 2 s", took)
	}
	if err := c.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	wait(t, "all is delivered", func() bool {
		all := c.lines("delivery")
		return strings.Contains(all[len(all)-1], "Over")
	})
	for _, l := range c.lines("delivery") {
		if strings.Contains(l, "Ended") && !strings.HasPrefix(strings.TrimSpace(strings.SplitN(l, "Ended", 2)[1]), "0") {
			t.Errorf("an executor did not end well: %s", l)
		}
	}
}

// countLast returns how many of the ledgers contain an executor's last batch.
func countLast(t *testing.T, ledgers []string) (n int) {
	t.Helper()
	for _, name := range ledgers {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		records, err := wire.OpenRecords(bufio.NewReader(bytes.NewReader(b)))
		for err == nil { // else it is not written yet
			var batch *wire.Batch
			if _, batch, err = records.Next(); batch.GetFinal() != nil {
				n++
			}
		}
	}
	return n
}

// F7: an executor hangs. Notes report that and that it continues; its load continues, too.
func TestAnExecutorHangs(t *testing.T) {
	t.Parallel()
	times := quick()
	times.Stall = 500 * time.Millisecond
	h := start(t, agent.Options{Times: times})
	hellos := h.load("long", 1)
	h.until("the load goes on", func() bool { return len(h.of(aRun)) > 3 })
	pid := int(hellos[0].Pid)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	h.until("a note that it is stuck", func() bool { return strings.Contains(notes(h.of(aRun)), "it is stuck") })
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	h.until("a note that it continues", func() bool { return strings.Contains(notes(h.of(aRun)), "continues after it was stuck") })
	h.must(&agentpb.Command{Run: aRun, Epoch: 1, What: &agentpb.Command_Stop{Stop: &wire.Stop{}}})
	all := h.over()
	if _, missing := merged(t, all, 1, "ticks"); missing != 0 {
		t.Errorf("%d pieces are missing", missing)
	}
	h.clean(hellos)
}
