package local

import (
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/measure/monitor"
	"github.com/gobench-io/gobench/internal/measure/threshold"
)

// The scenario's thresholds do not get into the caller's slice.
func TestThresholdsOfTheCaller(t *testing.T) {
	t.Parallel()
	given := make([]threshold.Threshold, 0, 4)
	r := &load{Options: Options{Thresholds: given, Interval: time.Second}, tally: monitor.New(monitor.Options{Interval: time.Second})}
	if err := r.setThresholds([]string{"http.latency p99 < 1s"}); err != nil {
		t.Fatal(err)
	}
	if got := given[:1][0]; got.Metric != "" {
		t.Errorf("the caller's slice has %+v", got)
	}
}
