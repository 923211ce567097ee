package monitor

import (
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/measure/threshold"
	"github.com/gobench-io/gobench/internal/wire"
)

// The scenario's thresholds do not get into the caller's slice.
func TestThresholdsOfTheCaller(t *testing.T) {
	t.Parallel()
	given := make([]threshold.Threshold, 0, 4)
	if _, err := Thresholds(&wire.Hello{Thresholds: []string{"http.latency p99 < 1s"}}, given, time.Second, false); err != nil {
		t.Fatal(err)
	}
	if got := given[:1][0]; got.Metric != "" {
		t.Errorf("the caller's slice has %+v", got)
	}
}
