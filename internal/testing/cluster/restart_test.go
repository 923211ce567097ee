//go:build linux

package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/check"
)

// F16: an idle master that is restarted, in turn after a signal and after a kill, has its
// agents, its sessions and its runs back within 10 s.
func TestMasterBegunAgain(t *testing.T) {
	t.Parallel()
	times, within := 4, 30*time.Second
	if *soak >= 100 {
		times, within = 20, 10*time.Second
	}
	c, target := New(t, 2), NewTarget(t)
	c.Login(t)
	id := c.start(t, requests(target.URL, 4, 0, 3, 0), run.Options{})
	c.Finished(t, id, time.Minute)
	for i := range times {
		if i%2 == 0 {
			c.Master.Signal(syscall.SIGTERM)
			if status := c.Master.Wait(t, time.Minute); status != 0 {
				t.Errorf("the master ended with status %d", status)
			}
		} else {
			c.Master.Kill()
		}
		c.Master.Begin(t)
		began := time.Now()
		c.Back(t) // with the session of before
		for _, n := range c.Agents {
			c.AwaitAgent(t, n, "ready", time.Minute)
		}
		if took := time.Since(began); took > within {
			t.Errorf("start %d: all was back after %v", i+1, took)
		}
	}
	next := c.start(t, requests(target.URL, 4, 0, 3, 0), run.Options{})
	if r := c.Finished(t, next, time.Minute); r.State != run.Finished || !r.Complete {
		t.Errorf("the run after it is %s (%s)", r.State, r.Cause)
	}
	c.Check(t, check.Targets{id: {"home.http_ok": 12}, next: {"home.http_ok": 12}})
}

// A command line that follows a run ends with the run, when the master is killed, or ended,
// and begins again: with the run's end and its exit status.
func TestFollowerOfRestartedMaster(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			c, target := NewHere(t, 1), NewTarget(t)
			dir, result := t.TempDir(), filepath.Join(t.TempDir(), "result.json")
			file := steady(target.URL, 4).file(t)
			for path, data := range map[string][]byte{"scenario.go": []byte(program), file.Path: file.Data} {
				if err := os.WriteFile(filepath.Join(dir, path), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			follower := c.Master.Host.Start(t, []string{"GOBENCH_TOKEN=" + c.tokens.admin}, "run", dir, "--master", c.url, "-d", "10m", "-o", result)
			awaitLoad(t, target, 1)
			Eventually(t, time.Minute, func() string {
				if !strings.Contains(follower.Output(t), "3s ") { // so many events that the next master has fewer
					return "the follower shows no 3 s of load"
				}
				return ""
			})
			c.Master.Signal(signal)
			c.Master.Wait(t, time.Minute)
			c.Master.Begin(t)
			if status := follower.Wait(t, time.Minute); status != 130 {
				t.Errorf("the follower ended with status %d", status)
			}
			var r run.Result
			if b, err := os.ReadFile(result); err != nil || json.Unmarshal(b, &r) != nil || r.State != run.Cancelled {
				t.Errorf("the follower has written the result %s (%s), %v", r.State, r.Cause, err)
			}
			c.AwaitAgent(t, c.Agents[0], "ready", time.Minute)
			c.Settle(t)
			c.Check(t, nil)
		})
	}
}

// F35: a second agent in a folder that one uses ends at once, and says why.
func TestTwoAgentsInOneFolder(t *testing.T) {
	t.Parallel()
	c := New(t, 1)
	first := c.Agents[0]
	second := first.Host.Start(t, nil, first.Args...)
	if status := second.Wait(t, time.Minute); status == 0 || !strings.Contains(second.Output(t), first.Dir) {
		t.Errorf("the second agent ended with status %d: %s", status, second.Output(t))
	}
	time.Sleep(2 * time.Second) // in which the first beats
	c.AwaitAgent(t, first, "ready", time.Minute)
	c.Check(t, nil)
}

// F35: a copy of an agent's folder that is used elsewhere is seen: neither may run anything,
// and the master names both addresses, until one is ended.
func TestCopiedFolder(t *testing.T) {
	t.Parallel()
	c, target := New(t, 1), NewTarget(t)
	first := c.Agents[0]
	first.Signal(syscall.SIGTERM)
	first.Wait(t, time.Minute)
	other := NewHost(t, "copy")
	dir := filepath.Join(t.TempDir(), "copy")
	if out, err := exec.Command("cp", "-a", first.Dir, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	first.Begin(t)
	c.AwaitAgent(t, first, "ready", time.Minute)
	args := slices.Clone(first.Args)
	args[slices.Index(args, "--dir")+1] = dir
	copied := other.Start(t, nil, args...)
	c.AwaitAgent(t, first, "refused", time.Minute)
	var all struct{ Items []struct{ Why string } }
	if err := c.get("/api/v1/agents", &all); err != nil || !strings.Contains(all.Items[0].Why, first.Address) || !strings.Contains(all.Items[0].Why, other.Address) {
		t.Errorf("the master says %v, %v: want both addresses, %s and %s", all.Items, err, first.Address, other.Address)
	}
	copied.Kill()
	c.AwaitAgent(t, first, "ready", time.Minute)
	id := c.start(t, requests(target.URL, 4, 0, 3, 0), run.Options{})
	if r := c.Finished(t, id, time.Minute); r.State != run.Finished || !r.Complete {
		t.Errorf("the run after it is %s (%s)", r.State, r.Cause)
	}
	c.Check(t, check.Targets{id: target.Counts(false)})
}

// F56: what an agent delivers again, since its spool was put back, is known and counted as
// a repeat; the totals stay.
func TestSpoolReplayed(t *testing.T) {
	t.Parallel()
	c, target := New(t, 1), NewTarget(t)
	n := c.Agents[0]
	id := c.start(t, steady(target.URL, 4), run.Options{Duration: 6})
	awaitLoad(t, target, 1)
	c.Await(t, id, time.Minute, run.Running)
	cutFromMaster(t, n, c.Master, true)
	spool, copied := filepath.Join(n.Dir, "agent", "spool"), filepath.Join(t.TempDir(), "spool")
	time.Sleep(2200 * time.Millisecond) // so long that batches wait in the spool
	if err := os.CopyFS(copied, os.DirFS(spool)); err != nil {
		t.Fatal(err)
	}
	cutFromMaster(t, n, c.Master, false)
	r := c.Finished(t, id, time.Minute)
	exact(t, r, target)
	c.Settle(t)
	n.Signal(syscall.SIGTERM)
	n.Wait(t, time.Minute)
	before := c.repeats(t)
	if err := os.RemoveAll(spool); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(spool, os.DirFS(copied)); err != nil {
		t.Fatal(err)
	}
	n.Begin(t)
	c.AwaitAgent(t, n, "ready", time.Minute)
	Eventually(t, time.Minute, func() string {
		if now := c.repeats(t); now <= before {
			return fmt.Sprintf("%v repeats, as before", now)
		}
		return ""
	})
	c.Settle(t)
	exact(t, c.Result(t, id), target)
	c.Check(t, check.Targets{id: target.Counts(false)})
}

// repeats is the master's own count of them.
func (c *Cluster) repeats(t *testing.T) (n float64) {
	t.Helper()
	status, body, err := c.try("GET", "/metrics", nil)
	if err != nil || status != 200 {
		t.Fatalf("GET /metrics: %d %v", status, err)
	}
	for line := range strings.Lines(string(body)) {
		if _, err := fmt.Sscanf(line, "gobench_batches_repeated_total %g", &n); err == nil {
			return n
		}
	}
	t.Fatalf("no gobench_batches_repeated_total in the metrics:\n%s", body)
	return 0
}
