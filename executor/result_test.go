package executor

import (
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/measure/meter"
)

// Results are recorded to the nanosecond and errors by text.
func TestRecordSuccessAndFailure(t *testing.T) {
	RecordSuccess("grpc", "hello", 123456*time.Nanosecond, 10)
	RecordSuccess("grpc", "hello", 999*time.Nanosecond, 5)
	for range 3 {
		RecordFailure("grpc", "hello", time.Second, "deadline exceeded")
	}
	cut := own.Registry.Cut(meter.Measured)
	if len(cut.Own.Failures) != 1 || cut.Own.Failures[0].Count != 3 || cut.Own.Failures[0].Failure != (meter.Failure{Source: "grpc.hello", Class: "failure", Text: "deadline exceeded"}) {
		t.Errorf("failures = %v", cut.Own.Failures)
	}
	for _, total := range own.Registry.Totals() {
		switch total.Title {
		case "grpc.hello.ok":
			if total.Value != 2 {
				t.Errorf("ok = %d", total.Value)
			}
		case "grpc.hello.fail":
			if total.Value != 3 {
				t.Errorf("fail = %d", total.Value)
			}
		case "grpc.hello.bytes":
			if total.Value != 15 {
				t.Errorf("bytes = %d", total.Value)
			}
		case "grpc.hello.latency":
			if total.Histogram.Min() != 999 || total.Histogram.Max() != 123456 || total.Histogram.Count() != 2 {
				t.Errorf("latency from %d to %d ns", total.Histogram.Min(), total.Histogram.Max())
			}
		}
	}
	if n := testing.AllocsPerRun(100, func() { RecordSuccess("grpc", "hello", 1, 1) }); n > 1 { // the joined name
		t.Errorf("RecordSuccess allocates %v times", n)
	}
}
