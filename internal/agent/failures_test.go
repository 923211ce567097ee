//go:build linux

package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/agent"
)

// A batch is larger than the bus takes, because of samples and texts of failures: its counts
// are delivered, with as many of those as there is room for, and the report says so.
func TestTooManyFailures(t *testing.T) {
	t.Parallel()
	h := start(t, agent.Options{})
	hellos := h.must(h.prepare("failures", 1)).Hellos
	c := arm(hellos, 0)
	c.GetArm().Starts[0].IntervalNs = int64(time.Minute) // all is in one batch
	h.must(c)
	h.must(begin(time.Now(), 0))
	all := h.over()
	if _, missing := merged(t, all, 1, "ticks"); missing != 0 {
		t.Errorf("%d pieces are missing", missing)
	}
	var failures int64
	samples := 0
	for _, d := range all {
		for _, f := range batch(d).GetFailures() {
			failures += f.Count
		}
		samples += len(batch(d).GetSamples())
	}
	if failures != 2000 {
		t.Errorf("%d failures", failures)
	}
	if text := notes(all); samples == 0 || !strings.Contains(text, fmt.Sprintf("missing are %d samples of failures", 300-samples)) {
		t.Errorf("%d samples; notes:\n%s", samples, text)
	}
	if e := ended(all)[0]; e.Error != "" {
		t.Errorf("ended %v", e)
	}
	h.clean(hellos)
}
