//go:build long && linux

package truth

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// A run of 100 requests a second is set to 500 during the run. From two seconds later on
// there are 500, to one in a hundred, over the connections that were open before. The result has
// the change and its time.
func TestScaleIsExact(t *testing.T) {
	nginx := servers.Nginx(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "r.json")
	cmd := binary.Command(t, "--dir", dir, "http", "-q", "-c", "10", "--rate", "100", "-d", "9s", "-o", out, nginx.URL+"/")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	binary.WaitForLoad(t, dir)
	time.Sleep(1500 * time.Millisecond)
	if b, err := binary.Command(t, "--dir", dir, "ctl", "last", "scale", "--rate", "500").CombinedOutput(); err != nil {
		t.Fatalf("gobench ctl: %v\n%s", err, b)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		run.Result
		Intervals []run.Interval
	}
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	changed := regexp.MustCompile(`^at ([0-9.]+) s: class http set to 500 starts/s$`)
	at := -1.0
	for _, note := range r.Notes {
		if m := changed.FindStringSubmatch(note); m != nil {
			at, _ = strconv.ParseFloat(m[1], 64)
		}
	}
	if at < 1 || at > 4 {
		t.Fatalf("the change is at %v s in notes %q", at, strings.Join(r.Notes, "; "))
	}
	served, seconds := int64(0), 0.0
	for _, i := range r.Intervals {
		if m, ok := i.Metrics["http.http_ok"]; ok && i.From >= at+2 && i.Seconds > 0.99 {
			served += *m.Count
			seconds += i.Seconds
		}
	}
	if seconds < 3 {
		t.Fatalf("only %v s are left after the change at %v s", seconds, at)
	}
	if rate := float64(served) / seconds; rate < 495 || rate > 505 {
		t.Errorf("%.1f requests a second, want 500", rate)
	}
	if n := binary.Total(&r.Result, "http.connections_opened"); n < 1 || n > 10 || len(r.Errors) > 0 {
		t.Errorf("%d connections opened for 10 users, errors %v", n, r.Errors)
	}
}
