//go:build linux

package cluster

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/long"
)

// limit is how many streams a master serves at once.
const limit = 1024

// F34: during a run each of a thousand dashboards receives every event, in order and without
// a gap, for less than 200 MiB of the master's memory. A dashboard past the limit is asked to
// retry later. One that reads too slowly is disconnected, and continues where it was. The full
// size needs the machine alone, for a thousand readers in one process; the short form
// is below the limit.
func TestThousandDashboards(t *testing.T) {
	dashboards, wanted := 64, 3 // and intervals
	if long.Run {
		dashboards, wanted = limit, 8
	} else {
		t.Parallel()
	}
	const most = 200 << 10 // KiB
	c, target := New(t, 1), NewTarget(t)
	id := c.start(t, steady(target.URL, 10), run.Options{Duration: 300})
	awaitLoad(t, target, 1)
	c.Await(t, id, 3*time.Minute, run.Running)
	token := c.tokens.viewer
	before := c.Master.resident(t)
	client := &http.Client{Transport: &http.Transport{}}
	open := func(after int) (*http.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), "GET", c.url+"/api/v1/events?totals=1", nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		if after > 0 {
			req.Header.Set("Last-Event-ID", fmt.Sprint(after))
		}
		return client.Do(req)
	}
	var all sync.WaitGroup
	for n := range dashboards {
		answer, err := open(0)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("dashboard %d: %v, %v", n, answer, err)
		}
		all.Go(func() {
			number, intervals := 0, 0
			for tries := 0; ; tries++ {
				if !dashboard(t, answer, wanted, &number, &intervals) || intervals >= wanted {
					return
				}
				for again, err := open(number); ; again, err = open(number) {
					if err == nil && again.StatusCode == http.StatusOK {
						answer = again
						break
					}
					if err == nil {
						again.Body.Close()
					}
					if tries++; tries > 50 {
						t.Errorf("dashboard %d can't go on after event %d: %v, %v", n, number, again, err)
						return
					}
					time.Sleep(time.Second) // before the next try
				}
			}
		})
	}
	if dashboards < limit {
	} else if answer, err := open(0); err != nil || answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("one more than may be: %v, %v", answer, err)
	} else {
		answer.Body.Close()
	}
	all.Wait()
	if grown := c.Master.resident(t) - before; grown > most {
		t.Errorf("%d dashboards take %d MiB, want %d at most", dashboards, grown>>10, most>>10)
	} else {
		t.Logf("%d dashboards take %d MiB", dashboards, grown>>10)
	}
	client.CloseIdleConnections()
	exact(t, c.stop(t, id), target)
}

// dashboard reads a stream until it has all wanted intervals, or the stream ends, and reports
// whether the events came in order.
func dashboard(t *testing.T, answer *http.Response, wanted int, number, intervals *int) bool {
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for *intervals < wanted && lines.Scan() {
		line := lines.Text()
		if text, ok := strings.CutPrefix(line, "id: "); ok {
			n, err := strconv.Atoi(text)
			if err != nil || *number > 0 && n != *number+1 { // the first number is any
				t.Errorf("event %s came after %d", text, *number)
				return false
			}
			*number = n
		}
		if strings.Contains(line, `"interval":`) {
			*intervals++
		}
	}
	return true
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
