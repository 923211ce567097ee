//go:build linux

package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/check"
)

// F18: the master's disk is full in the middle of a run, so long that its bus fails to store a
// delivery. When there is space again the run continues, and ends with exact totals.
func TestMasterDiskFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	c, target := newCluster(t, func(name string) *Host { return NewHost(t, name) }, dir, 2, nil), NewTarget(t)
	id := c.start(t, steady(target.URL, 8), run.Options{Duration: 600})
	awaitLoad(t, target, 2)
	c.Await(t, id, time.Minute, run.Running)
	ballast := fill(t, dir, func() string { return c.says(t, "the bus can't store deliveries yet") })
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	Eventually(t, time.Minute, func() string { return c.says(t, "the bus stores deliveries again") })
	r := c.stop(t, id)
	if r.State != run.Finished {
		t.Errorf("the run is %s (%s)", r.State, r.Cause)
	}
	exact(t, r, target)
	c.Check(t, check.Targets{id: target.Counts(false)})
}

// says returns "" if the master's log has a text, and else that it has not.
func (c *Cluster) says(t *testing.T, text string) string {
	t.Helper()
	if strings.Contains(c.Master.Output(t), text) {
		return ""
	}
	return "the master does not log: " + text
}

// fill writes a file until the disk of dir is full, also what others free meanwhile, until
// done returns "". After a minute it fails the test. It returns the file's path.
func fill(t *testing.T, dir string, done func() string) string {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	page := make([]byte, 4096)
	Eventually(t, time.Minute, func() string {
		for err := error(nil); err == nil; {
			_, err = f.Write(page)
		}
		return done()
	})
	return f.Name()
}
