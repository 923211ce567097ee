//go:build linux

package cluster

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/check"
	"github.com/gobench-io/gobench/internal/testing/long"

	_ "modernc.org/sqlite" // driver "sqlite"
)

// F36: an agent that is killed and restarted many times during a run is one agent, whose
// part others take over once; the master keeps nothing of each time, and does
// not grow.
func TestAgentFlaps(t *testing.T) {
	t.Parallel()
	flaps := 12
	if long.Run {
		flaps = 100
	}
	whole := times.Lease + 16*time.Second // after the lease another 8 s pass until others take over
	const rate = 60
	c, target := New(t, 3), NewTarget(t)
	victim := c.Agents[1]
	id := c.start(t, arrival(target.URL, 30, rate, whole), run.Options{Lost: run.LostRebalance})
	c.Await(t, id, 2*time.Minute, run.Running)
	awaitLoad(t, target, 3)
	memory, rows := int64(0), map[string]int{}
	alone := int64(0) // requests of the agent before it was killed
	began := time.Now()
	for i := range flaps {
		victim.Kill()
		if i == 0 {
			alone = asked(target, victim)
		}
		if i == flaps/4 { // by now all that exists only once is made
			memory, rows = c.memory(t), c.rows(t)
		}
		victim.Begin(t)
		Eventually(t, time.Minute, func() string {
			if n := strings.Count(victim.Output(t), `"msg":"gobench agent"`); n < i+2 {
				return fmt.Sprintf("the agent has begun %d times, want %d", n, i+2)
			}
			return ""
		})
	}
	t.Logf("%d kills in %v", flaps, time.Since(began).Round(time.Second))
	after := c.memory(t)
	t.Logf("the master has %d MB, and had %d MB after %d kills", after>>20, memory>>20, flaps/4)
	if after > memory+24<<20 {
		t.Errorf("the master has %d MB, and had %d MB after %d kills", after>>20, memory>>20, flaps/4)
	}
	for table, n := range c.rows(t) {
		switch table {
		case "batches", "series", "batch_ranges": // of the load
		default:
			if n > rows[table]+2 {
				t.Errorf("%s has %d rows, and had %d after %d kills", table, n, rows[table], flaps/4)
			}
		}
	}
	c.AwaitAgent(t, victim, "ready", time.Minute)
	r := c.Finished(t, id, 2*time.Minute)
	if r.State != run.Finished || r.Verdict == run.Valid {
		t.Errorf("the run is %s (%s), %s: want finished, not VALID", r.State, r.Cause, r.Verdict)
	}
	if notes := fmt.Sprint(r.Notes); strings.Count(notes, "what was lost is done by") != 1 || !strings.Contains(notes, "what was lost is done by 2 agents") {
		t.Errorf("want that what was lost was taken over once, by two agents: %q", r.Notes)
	}
	// Users that were busy as the agent died may be lost to it, and what is in flight.
	if n, whole := len(target.Seen(time.Time{})), int(whole.Seconds()*rate); n < whole*6/10 || n > whole+rate {
		t.Errorf("%d requests came, the whole is %d", n, whole)
	}
	if more := asked(target, victim) - alone; more > 10 {
		t.Errorf("the agent asked %d times after it was killed: it was given load again", more)
	}
	c.Check(t, check.Targets{id: {"home.http_ok": count(t, r, "home.http_ok")}})
}

// memory is the master's resident memory in bytes.
func (c *Cluster) memory(t *testing.T) (kb int64) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Master.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(b, []byte("VmRSS:"))
	if _, err := fmt.Sscan(string(rest), &kb); err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

// rows returns the number of rows of each table of the master's database.
func (c *Cluster) rows(t *testing.T) map[string]int {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+c.Database()+"?mode=ro&_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	names, err := db.Query(`SELECT name FROM sqlite_schema WHERE type = 'table'`)
	if err != nil {
		t.Fatal(err)
	}
	defer names.Close()
	all := map[string]int{}
	for names.Next() {
		var name string
		if err := names.Scan(&name); err != nil {
			t.Fatal(err)
		}
		all[name] = 0
	}
	if err := names.Err(); err != nil {
		t.Fatal(err)
	}
	for name := range all {
		var n int
		if err := db.QueryRow(`SELECT count(*) FROM "` + name + `"`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		all[name] = n
	}
	return all
}
