//go:build linux

package truth

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// A run of one request in a second is set to 500 a second, and stopped once the target has answered
// 500 requests, which takes no more connections than there are users. TestScaleIsExact, a
// long test, measures the rate.
func TestScaleWhileRunning(t *testing.T) {
	t.Parallel()
	target := servers.NewTarget(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "r.json")
	cmd := binary.Command(t, "--dir", dir, "http", "-q", "-c", "10", "--rate", "1", "-d", "1h", "-o", out, target.URL+"/")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	binary.WaitForLoad(t, dir)
	if b, err := binary.Command(t, "--dir", dir, "ctl", "last", "scale", "--rate", "500").CombinedOutput(); err != nil {
		t.Fatalf("gobench ctl: %v\n%s", err, b)
	}
	for end := time.Now().Add(time.Minute); target.Served() < 500; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the target answered %d requests within a minute", target.Served())
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	r := binary.ReadResult(t, out)
	if n := binary.Total(r, "http.http_ok"); n < 500 || len(r.Errors) > 0 {
		t.Errorf("%d answers, want 500 and more; errors %v", n, r.Errors)
	}
	if n := binary.Total(r, "http.connections_opened"); n < 1 || n > 10 {
		t.Errorf("%d connections opened for 10 users", n)
	}
	if !strings.Contains(strings.Join(r.Notes, "\n"), "class http set to 500 starts/s") {
		t.Errorf("notes %q", r.Notes)
	}
}
