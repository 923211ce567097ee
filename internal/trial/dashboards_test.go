//go:build linux

package trial

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// F34: while a run goes on a thousand dashboards each get every event, in order and without
// a gap, for less than 200 MiB of the master's memory; the one past the limit is told to
// come again.
func TestThousandDashboards(t *testing.T) {
	t.Parallel()
	const dashboards, most, wanted = 1024, 200 << 10, 8 // the master's limit; KiB; intervals
	c, target := New(t, 1), NewTarget(t)
	id := c.Submit(t, steady(target.URL, 10), run.Options{Duration: 300})
	load(t, target, 1)
	c.Await(t, id, 3*time.Minute, run.Running)
	token := c.viewer(t)
	before := c.Master.resident(t)
	client := &http.Client{Transport: &http.Transport{}}
	open := func() *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), "GET", c.url+"/api/v1/events?totals=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		answer, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { answer.Body.Close() })
		return answer
	}
	var all sync.WaitGroup
	for n := range dashboards {
		answer := open()
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("dashboard %d: %s", n, answer.Status)
		}
		all.Go(func() {
			lines := bufio.NewScanner(answer.Body)
			lines.Buffer(nil, 1<<20)
			number, intervals := 0, 0
			for intervals < wanted && lines.Scan() {
				line := lines.Text()
				if text, ok := strings.CutPrefix(line, "id: "); ok {
					if number++; text != fmt.Sprint(number) {
						t.Errorf("dashboard %d: event %s came, want %d", n, text, number)
						return
					}
				}
				if strings.Contains(line, `"interval":`) {
					intervals++
				}
			}
			if intervals < wanted {
				t.Errorf("dashboard %d: its stream has ended after %d intervals, event %d: %v", n, intervals, number, lines.Err())
			}
		})
	}
	if answer := open(); answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("one more than may be: %s, Retry-After %q", answer.Status, answer.Header.Get("Retry-After"))
	}
	all.Wait()
	if grown := c.Master.resident(t) - before; grown > most {
		t.Errorf("%d dashboards take %d MiB, want %d at most", dashboards, grown>>10, most>>10)
	} else {
		t.Logf("%d dashboards take %d MiB", dashboards, grown>>10)
	}
	client.CloseIdleConnections()
	c.Do(t, "POST", "/api/v1/runs/"+id+"/stop", nil, nil)
	exact(t, c.Finished(t, id, time.Minute), target)
}

// resident is how much memory the program has, in KiB.
func (p *Process) resident(t *testing.T) (n int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &n); err == nil {
			return n
		}
	}
	t.Fatalf("no VmRSS in %s", b)
	return 0
}
