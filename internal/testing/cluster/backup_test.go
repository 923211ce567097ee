//go:build linux

package cluster

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/check"
	"github.com/gobench-io/gobench/internal/testing/long"
)

// backup copies the master's database by gobench backup, and returns the copy's name.
func (c *Cluster) backup(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy.db")
	if out, err := exec.Command(binary.Gobench(t), "backup", "--dir", c.Master.Dir, path).CombinedOutput(); err != nil {
		t.Fatalf("gobench backup: %v: %s", err, out)
	}
	return path
}

// restored starts a master on a host of its own that has nothing but a backup. What
// executors of some runs have counted is what it is held against.
func (c *Cluster) restored(t *testing.T, backup string, runs ...string) *Cluster {
	t.Helper()
	h := c.host("restored")
	r := &Cluster{host: c.host, Master: &Node{Host: h, Dir: t.TempDir()}, ledgers: t.TempDir(), work: c.work, tokens: c.tokens}
	for _, id := range runs {
		files, err := filepath.Glob(filepath.Join(c.ledgers, "*."+id+".*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%d ledgers of run %s: %v", len(files), id, err)
		}
		for _, file := range files {
			if err := os.Link(file, filepath.Join(r.ledgers, filepath.Base(file))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Mkdir(filepath.Join(r.Master.Dir, "master"), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, backup, r.Database())
	r.serve(t, nil)
	return r
}

// put replaces a database, whose master is stopped, by a backup.
func put(t *testing.T, backup, database string) {
	t.Helper()
	b, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(database, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{"-wal", "-shm"} { // what a master that was killed leaves
		if err := os.Remove(database + more); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

// taken returns the number of batches of a run in a database, by the rows of its executors.
func taken(t *testing.T, database, id string) (n int64) {
	t.Helper()
	u := url.URL{Scheme: "file", Path: database, RawQuery: "mode=ro&_pragma=busy_timeout(10000)"}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), `SELECT COALESCE(SUM(e.seq), 0) FROM executors e, runs r WHERE e.run = r.number AND r.id = $1`, id).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// awaitTaken waits until want batches of a run are in the master's database.
func (c *Cluster) awaitTaken(t *testing.T, id string, want int64) {
	t.Helper()
	Eventually(t, time.Minute, func() string {
		if n := taken(t, c.Database(), id); n < want {
			return fmt.Sprintf("%d batches are taken in, want %d", n, want)
		}
		return ""
	})
}

// I12: each backup that is taken during a run, while batches arrive, is the store as of one
// moment. A master that starts with only the backup has the run, cancelled, with the sums of
// the batches in the backup. It then works as usual: an agent joins, and queued runs are
// performed.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	c, target := New(t, 2), NewTarget(t)
	before := c.start(t, requests(target.URL+"before", 4, 0, 3, 0), run.Options{})
	c.Finished(t, before, 3*time.Minute)
	id := c.start(t, steady(target.URL, 8), run.Options{Duration: 300})
	waits := c.start(t, requests(target.URL+"waits", 2, 0, 3, 0), run.Options{})
	awaitLoad(t, target, 2)
	c.Await(t, id, 3*time.Minute, run.Running)
	copies := make([]string, 2)
	if long.Run {
		copies = make([]string, 3)
	}
	has := make([]int64, len(copies)) // batches
	for i := range copies {
		c.awaitTaken(t, id, int64(4*(i+1)))
		first := taken(t, c.Database(), id)
		copies[i] = c.backup(t)
		last := taken(t, c.Database(), id)
		if has[i] = taken(t, copies[i], id); has[i] < first || has[i] > last {
			t.Errorf("backup %d has %d batches, the store had %d to %d", i, has[i], first, last)
		}
		if i > 0 && has[i] <= has[i-1] {
			t.Errorf("backup %d has %d batches, the one before it %d", i, has[i], has[i-1])
		}
	}
	if o := c.Run(t, id); o.State != run.Running {
		t.Fatalf("the run is %s (%s), and was to go on", o.State, o.Cause)
	}
	c.Do(t, "POST", "/api/v1/runs/"+id+"/stop", nil, nil)
	c.Finished(t, id, time.Minute)
	c.Finished(t, waits, 3*time.Minute)
	c.Check(t, check.Targets{before: {"home.http_ok": 12}, waits: {"home.http_ok": 6}})

	for i, path := range copies {
		found, err := check.Check(t.Context(), check.Options{DB: c.Database(), Backup: path, Ledgers: c.ledgers})
		if err != nil || len(found) > 0 {
			t.Errorf("backup %d: %v, %v", i, found, err)
		}
		r := c.restored(t, path, before, id) // it performs the one that waits itself
		result := r.Finished(t, id, time.Minute)
		if result.State != run.Cancelled || result.Cause != "master restarted" || result.Complete || len(result.Missing) != 2 {
			t.Errorf("backup %d: the run is %s (%s), missing %q: want cancelled, master restarted, and something of both agents missing", i, result.State, result.Cause, result.Missing)
		}
		if n := taken(t, r.Database(), id); n != has[i] {
			t.Errorf("backup %d: %d batches of the run are there, and %d were", i, n, has[i])
		}
		if result := r.Result(t, before); result.State != run.Finished || !result.Complete || count(t, result, "home.http_ok") != 12 {
			t.Errorf("backup %d: the run before is %s, complete: %v", i, result.State, result.Complete)
		}
		r.Join(t)
		if result := r.Finished(t, waits, 3*time.Minute); result.State != run.Finished || !result.Complete { // the queue continues
			t.Errorf("backup %d: the run that waited is %s (%s)", i, result.State, result.Cause)
		}
		r.Check(t, check.Targets{before: {"home.http_ok": 12}, waits: {"home.http_ok": 6}})
	}
}

// I12: a master that is killed in a run, and whose database is replaced by a backup of
// earlier in the run, has the batches of the backup and none beyond a gap; its agents come
// back, and what waited is performed.
func TestBackupPutBack(t *testing.T) {
	t.Parallel()
	c, target := New(t, 2), NewTarget(t)
	id := c.start(t, steady(target.URL, 8), run.Options{Duration: 300})
	awaitLoad(t, target, 2)
	c.Await(t, id, 3*time.Minute, run.Running)
	c.awaitTaken(t, id, 4)
	path := c.backup(t)
	has := taken(t, path, id)
	c.awaitTaken(t, id, has+4) // agents have forgotten what they delivered
	c.Master.Kill()
	put(t, path, c.Database())
	c.Master.Begin(t)
	c.Back(t)
	r := c.Finished(t, id, time.Minute)
	if r.State != run.Cancelled || r.Cause != "master restarted" {
		t.Errorf("the run is %s (%s), want cancelled, master restarted", r.State, r.Cause)
	}
	for _, n := range c.Agents {
		c.AwaitAgent(t, n, "ready", time.Minute)
	}
	c.Settle(t)
	if r = c.Result(t, id); r.Complete || len(r.Missing) != 2 {
		t.Errorf("of the run is missing %q, want something of both agents", r.Missing)
	}
	if n := taken(t, c.Database(), id); n != has {
		t.Errorf("%d batches of the run are there, and the backup had %d", n, has)
	}
	next := c.start(t, requests(target.URL+"next", 4, 0, 3, 0), run.Options{})
	if r := c.Finished(t, next, 3*time.Minute); r.State != run.Finished || !r.Complete {
		t.Errorf("the run after it is %s (%s), missing %q", r.State, r.Cause, r.Missing)
	}
	c.Check(t, check.Targets{next: {"home.http_ok": 12}})
}
