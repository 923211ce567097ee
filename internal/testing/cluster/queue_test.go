//go:build linux

package cluster

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/check"
)

// F52, I6: a hundred runs are submitted at once, and most of them are cancelled as they
// wait; numbers have no gap and no double, and the rest runs in their order, one at a time.
func TestHundredSubmissionsAtOnce(t *testing.T) {
	t.Parallel()
	c, target := New(t, 1), NewTarget(t)
	blocker := c.start(t, steady(target.URL, 1), run.Options{Duration: 300})
	body := map[string]any{"name": "many", "source": run.Source{Scenario: program, Files: []run.File{requests(target.URL, 1, 0, 1, 0).file(t)}}}
	orders := make([]run.Order, 100)
	errs := make([]error, len(orders))
	var all sync.WaitGroup
	for i := range orders {
		all.Go(func() {
			status, answer, err := c.try("POST", "/api/v1/runs", body)
			if err == nil && status != 201 {
				err = fmt.Errorf("%d %s", status, answer)
			}
			if err == nil {
				err = json.Unmarshal(answer, &orders[i])
			}
			if err == nil && i%20 != 0 {
				status, answer, err = c.try("POST", "/api/v1/runs/"+orders[i].ID+"/cancel", nil)
				if err == nil && status >= 300 {
					err = fmt.Errorf("cancel: %d %s", status, answer)
				}
			}
			errs[i] = err
		})
	}
	all.Wait()
	var numbers []int64
	for i, err := range errs {
		if err != nil {
			t.Fatalf("submission %d: %v", i, err)
		}
		numbers = append(numbers, orders[i].Number)
	}
	slices.Sort(numbers)
	for i, n := range numbers {
		if n != int64(i)+2 {
			t.Fatalf("the numbers are %d, want those from 2 to 101", numbers)
		}
	}
	if status, answer, err := c.try("DELETE", "/api/v1/runs/"+blocker, nil); err != nil || status != 409 {
		t.Errorf("delete a run that goes on: %d %s %v, want 409", status, answer, err)
	}
	c.Do(t, "POST", "/api/v1/runs/"+blocker+"/cancel", nil, nil)
	for i, o := range orders {
		want := run.Cancelled
		if i%20 == 0 {
			want = run.Finished
		}
		c.Await(t, o.ID, time.Minute, want)
	}
	c.Check(t, nil) // the order, too
}

// F53: a run waits while there is no agent, and reports it. An agent that joins during a run
// takes part in the next one only.
func TestAgentsJoinLater(t *testing.T) {
	t.Parallel()
	c, target := New(t, 0), NewTarget(t)
	id := c.start(t, steady(target.URL, 4), run.Options{Duration: 300})
	Eventually(t, time.Minute, func() string {
		if !strings.Contains(c.Master.Output(t), "no agent is there") {
			return "the master does not say why the run waits"
		}
		return ""
	})
	if o := c.Run(t, id); o.State != run.Queued {
		t.Errorf("the run is %s without an agent", o.State)
	}
	c.Join(t)
	awaitLoad(t, target, 1)
	second := c.Join(t)
	r := c.stop(t, id)
	if r.State != run.Finished || !r.Complete || len(r.Hosts) != 1 || asked(target, second) != 0 {
		t.Errorf("the run is %s (%s) on %d hosts, %d requests of the one that joined late", r.State, r.Cause, len(r.Hosts), asked(target, second))
	}
	seen := target.Counts(false)
	next := c.start(t, requests(target.URL, 4, 0, 3, 0), run.Options{})
	if r := c.Finished(t, next, time.Minute); len(r.Hosts) != 2 || asked(target, second) != 6 {
		t.Errorf("the next run is on %d hosts, with %d requests of the second, want 2, 6", len(r.Hosts), asked(target, second))
	}
	c.Check(t, check.Targets{id: seen, next: {"home.http_ok": 12}})
}
