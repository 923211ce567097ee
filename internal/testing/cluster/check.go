//go:build linux

package cluster

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/check"
)

// Check runs the checker on everything that the cluster has done, after Settle, up to five times
// as long as there are violations, and fails the test with each of the last ones: on its
// store, the ledgers of its executors, what they have left on this host, the master's API, and
// gobench show. The counts of runs are compared with those of targets, where stated. Runs must
// be over, and agents that have something to deliver must be connected.
func (c *Cluster) Check(t testing.TB, targets check.Targets) {
	t.Helper()
	c.Settle(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	o := check.Options{DB: c.Database(), Ledgers: c.ledgers, Targets: targets, Host: true, Work: []string{c.work}, API: c.url, Token: c.tokens.viewer, Gobench: binary.Gobench(t)}
	// A result follows its totals within a moment, in which the two may differ.
	var found []check.Violation
	for range 5 {
		var err error
		if found, err = check.Check(ctx, o); err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			return
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	for _, v := range found {
		t.Error(v)
	}
}

// explain logs the checker's violations of a cluster whose test failed, and the name and size of
// each ledger.
func (c *Cluster) explain(t testing.TB) {
	found, err := check.Check(context.Background(), check.Options{DB: c.Database(), Ledgers: c.ledgers})
	if err != nil {
		t.Logf("checker: %v", err)
	}
	for _, v := range found {
		t.Logf("checker: %s", v)
	}
	files, _ := filepath.Glob(filepath.Join(c.ledgers, "*.batches"))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			t.Logf("ledger %s, %d bytes", filepath.Base(file), info.Size())
		}
	}
}

// Settle waits until none of the newest 200 runs is queued or active, and until no agent that is
// connected has anything to deliver. After 2 minutes it fails the test.
func (c *Cluster) Settle(t testing.TB) {
	t.Helper()
	Eventually(t, 2*time.Minute, func() string {
		var runs struct{ Items []run.Order }
		if err := c.get("/api/v1/runs?limit=200", &runs); err != nil {
			return err.Error()
		}
		for _, o := range runs.Items {
			if !o.State.Final() {
				return "run " + o.ID + " is " + string(o.State)
			}
		}
		var agents struct {
			Items []struct {
				Name, State, Run, Phase string
				Unsaved                 uint64
			}
		}
		if err := c.get("/api/v1/agents", &agents); err != nil {
			return err.Error()
		}
		for _, a := range agents.Items {
			if a.State == "ready" && a.Unsaved == 0 && (a.Run == "" || a.Phase == "over") || a.State == "lost" || a.State == "revoked" || a.State == "refused" {
				continue
			}
			return "agent " + a.Name + " is " + a.State + " (" + a.Phase + ")"
		}
		return ""
	})
}

// Counts returns the target's counts of a run, as the checker wants them: "home.http_ok" has the
// number of requests, and "users" that of users if users is true. Several runs of one target are
// counted together.
func (x *Target) Counts(users bool) map[string]int64 {
	requests, by, _ := x.Counted()
	counts := map[string]int64{"home.http_ok": requests}
	if users {
		counts["users"] = int64(len(by))
	}
	return counts
}
