package executor

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/run"
)

// checkMeters are the meters of a check.
type checkMeters struct{ passed, failed meter.Meter }

// Check counts ok under check.NAME.passed or check.NAME.failed and returns it. A failed check
// changes no latency and ends nothing; the first 3 of each name are shown in the report with
// the calling line, within the limit of [Recorder.Sample]. A threshold can require a rate, as
// in `check "has a body" rate > 99%`. name is a constant text of at most 100 bytes: each
// different name is a separate metric. Any number of goroutines may call Check at once.
//
// If name can't be declared, because it is too long or the run has too many metrics, the check
// is counted as an error of source "check", and ok is returned anyway.
func Check(ctx context.Context, name string, ok bool) bool {
	r := From(ctx)
	m, err := r.names().checks.Get(name, r.declareCheck)
	switch {
	case err != nil:
		r.Error("check", "declare", err.Error())
	case ok:
		r.Record(m.passed, 1)
	default:
		r.Record(m.failed, 1)
		r.Sample("check", name, func() Exchange { return Exchange{What: fmt.Sprintf("check %q failed", name), Error: caller()} })
	}
	r.remark(func() string {
		if ok {
			return fmt.Sprintf("check %q passed", name)
		}
		return fmt.Sprintf("check %q failed", name)
	})
	return ok
}

// caller returns where the scenario called this package, as "at shop.go:17"; "" if that is not
// among the 16 innermost frames.
func caller() string {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "github.com/gobench-io/gobench/executor.") && !strings.HasPrefix(f.Function, "github.com/gobench-io/gobench/internal/") {
			return fmt.Sprintf("at %s:%d", filepath.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}

// declareCheck declares the two metrics of the check name and returns their meters, not all of
// them with an error, which is that of DeclareGraph.
func (r *Recorder) declareCheck(name string) (m checkMeters, err error) {
	title := "check." + name
	err = r.Registry.DeclareGraph("Checks", metrics.Graph{Title: title, Unit: "N"}, metrics.Counter,
		metric(title+".passed", run.Counts{Role: run.CheckPassed, Of: name}, &m.passed),
		metric(title+".failed", run.Counts{Role: run.CheckFailed, Of: name}, &m.failed))
	return m, err
}

// Time runs f as a step of a scenario (a transaction, such as "log in") and returns f's error.
// A successful step records its duration in step.NAME.time, in nanoseconds. A failed one adds
// 1 to step.NAME.failed and records no duration; its error is counted by its text, unless the
// client that returned it has counted it. A step that failed after ctx ended, or with
// context.Canceled, is not counted. Steps may be nested. If step can't be declared, Time
// returns an error without calling f. Any number of goroutines may call Time at once.
func Time(ctx context.Context, step string, f func() error) error {
	return (*meter.Scope)(From(ctx)).Time(ctx, step, f)
}
