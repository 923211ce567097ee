//go:build linux

package cluster

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/master/bus"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// stranger joins as an agent that says what it likes of itself.
func (c *Cluster) stranger(t *testing.T, h *agentpb.Hello) (bus.Identity, error) {
	t.Helper()
	var token struct{ Text string }
	c.Do(t, "POST", "/api/v1/join-tokens", struct{}{}, &token)
	return bus.Join(t.Context(), token.Text, bus.JoinOptions{Dir: t.TempDir(), Hello: h})
}

// F37: an agent with another major protocol version is refused when it joins, with an error
// that names both versions. One with another minor version is accepted.
func TestOtherProtocols(t *testing.T) {
	t.Parallel()
	c := New(t, 1)
	_, err := c.stranger(t, &agentpb.Hello{Name: "old", Version: "9.9", Protocol: agentpb.Protocol + 1, Os: "linux", Arch: "amd64"})
	var refused *bus.JoinError
	if !errors.As(err, &refused) || refused.Code != "version" || !strings.Contains(refused.Text, "9.9") {
		t.Errorf("an agent of protocol %d: %v, want a refusal that names both versions", agentpb.Protocol+1, err)
	}
	if _, err := c.stranger(t, &agentpb.Hello{Name: "new", Protocol: agentpb.Protocol, Minor: agentpb.Minor + 1, Os: "linux", Arch: "amd64"}); err != nil {
		t.Errorf("an agent of minor protocol %d: %v", agentpb.Minor+1, err)
	}
	c.Check(t, nil)
}

// F38: an agent of another platform is given an executor of that, and a refusal ends the
// run before any load.
func TestOtherPlatform(t *testing.T) {
	t.Parallel()
	// A cold cache has nothing for that platform, and compiling for it is at idle priority.
	c, target := New(t, 0, "--compile-limit", "6m"), NewTarget(t)
	hello := &agentpb.Hello{Name: "arm", Protocol: agentpb.Protocol, Minor: agentpb.Minor, Os: "linux", Arch: "arm64"}
	who, err := c.stranger(t, hello)
	if err != nil {
		t.Fatal(err)
	}
	agent, err := bus.Dial(who, bus.AgentOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var parts sync.WaitGroup
	defer parts.Wait()
	defer cancel()
	parts.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for n := uint64(1); ctx.Err() == nil; n++ {
			_ = agent.Beat(ctx, &agentpb.Beat{Agent: who.Agent, Boot: 7, Count: n, Hello: hello, UnixNs: time.Now().UnixNano()}) // the next follows
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	given := make(chan elf.Machine, 1)
	parts.Go(func() {
		_ = agent.Commands(ctx, func(ctx context.Context, command *agentpb.Command) *agentpb.Answer { // until cancel
			p := command.GetPrepare()
			if p == nil {
				return &agentpb.Answer{}
			}
			var executor bytes.Buffer
			if err := agent.Fetch(ctx, p.Executor, 0, &executor); err == nil && p.Arch == "arm64" {
				if f, err := elf.NewFile(bytes.NewReader(executor.Bytes())); err == nil {
					given <- f.Machine
				}
			}
			return &agentpb.Answer{Error: "this is no machine of that kind", Code: "platform"}
		})
	})
	id := c.start(t, requests(target.URL, 4, 0, 3, 0), run.Options{})
	o := c.Await(t, id, 7*time.Minute, run.Failed)
	if !strings.Contains(o.Cause, "this is no machine of that kind") {
		t.Errorf("the cause is %q", o.Cause)
	}
	select {
	case m := <-given:
		if m != elf.EM_AARCH64 {
			t.Errorf("the agent was given an executor for %v", m)
		}
	default:
		t.Error("the agent was given no executor for arm64")
	}
	if requests, _, _ := target.Counted(); requests != 0 {
		t.Errorf("the target has seen %d requests", requests)
	}
}

// F39: what is damaged on its way, or on the master's disk, is not run: the run says which
// file it was. What is damaged on the agent's disk is fetched again.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	c, target := New(t, 1), NewTarget(t)
	submit := func() string {
		var order run.Order
		c.Do(t, "POST", "/api/v1/runs", map[string]any{"name": "damaged", "source": run.Source{Scenario: program,
			Files: []run.File{requests(target.URL, 2, 0, 2, 0).file(t), {Path: "rows.csv", Data: []byte("a,b\n1,2\n")}}}}, &order)
		return order.ID
	}
	if r := c.Finished(t, submit(), time.Minute); r.State != run.Finished {
		t.Fatalf("the first run is %s (%s)", r.State, r.Cause)
	}
	n := damage(t, filepath.Join(c.Agents[0].Dir, "agent", "blobs"))
	if n < 2 {
		t.Errorf("the agent keeps %d files, want the executor and the rows", n)
	}
	if r := c.Finished(t, submit(), time.Minute); r.State != run.Finished || !r.Complete {
		t.Errorf("with damaged files on the agent the run is %s (%s)", r.State, r.Cause)
	}
	if damage(t, filepath.Join(c.Master.Dir, "master", "blobs")) == 0 {
		t.Error("the master keeps no files")
	}
	c.Join(t) // which has none of them yet
	id := submit()
	r := c.Finished(t, id, time.Minute)
	if r.State != run.Failed || !strings.Contains(r.Cause, "sha256") && !strings.Contains(r.Cause, "digest") {
		t.Errorf("with a damaged file on the master the run is %s (%s), want failed, by its digest", r.State, r.Cause)
	}
	c.Check(t, nil)
}

// damage flips a bit of each file below a folder, and returns how many there are.
func damage(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil || len(b) == 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b[len(b)/2] ^= 1
		n++
		if err := os.Remove(path); err != nil { // it may be in use
			return err
		}
		return os.WriteFile(path, b, info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
