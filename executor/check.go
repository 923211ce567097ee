package executor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
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
	m, err := r.names().checks.get(name, r.declareCheck)
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
// them with an error, which is that of declare.
func (r *Recorder) declareCheck(name string) (m checkMeters, err error) {
	title := "check." + name
	err = r.declare("Checks", metrics.Graph{Title: title, Unit: "N"}, metrics.Counter,
		namedMetric{title + ".passed", run.Counts{Role: run.CheckPassed, Of: name}, &m.passed},
		namedMetric{title + ".failed", run.Counts{Role: run.CheckFailed, Of: name}, &m.failed})
	return m, err
}

// stepMeters are the meters of a step.
type stepMeters struct{ time, failed meter.Meter }

// Time runs f as a step of a scenario (a transaction, such as "log in") and returns f's error.
// A successful step records its duration in step.NAME.time, in nanoseconds. A failed one adds
// 1 to step.NAME.failed and records no duration; its error is counted by its text, unless the
// client that returned it has counted it. A step that failed after ctx ended, or with
// context.Canceled, is not counted. Steps may be nested. If step can't be declared, Time
// returns an error without calling f. Any number of goroutines may call Time at once.
func Time(ctx context.Context, step string, f func() error) error {
	r := From(ctx)
	m, err := r.names().steps.get(step, r.declareStep)
	if err != nil {
		return fmt.Errorf("step %q: %w", step, err)
	}
	began := time.Now()
	err = f()
	took := time.Since(began)
	switch {
	case err == nil:
		r.Record(m.time, int64(took))
	case ctx.Err() == nil && !errors.Is(err, context.Canceled):
		r.Record(m.failed, 1)
		var counted interface{ Counted() bool }
		if !errors.As(err, &counted) || !counted.Counted() { // otherwise the client has counted the text
			r.Error("step."+step, "step", err.Error())
			r.Sample("step."+step, "step", func() Exchange {
				return Exchange{What: fmt.Sprintf("step %q failed", step), Began: began, Parts: []Part{{Name: "after", Took: took}}, Error: err.Error()}
			})
		}
	}
	r.remark(func() string {
		if err != nil {
			return fmt.Sprintf("step %q failed after %s", step, units.Millis(took.Seconds()*1e3))
		}
		return fmt.Sprintf("step %q took %s", step, units.Millis(took.Seconds()*1e3))
	})
	return err
}

// declareStep declares the two metrics of the step name and returns their meters, not all of
// them with an error, which is that of declare.
func (r *Recorder) declareStep(name string) (m stepMeters, err error) {
	title := "step." + name
	if err = r.declare("Steps", metrics.Graph{Title: title + " time", Unit: "ns"}, metrics.Histogram,
		namedMetric{title + ".time", run.Counts{Role: run.StepTime, Of: name}, &m.time}); err != nil {
		return m, err
	}
	err = r.declare("Steps", metrics.Graph{Title: title, Unit: "N"}, metrics.Counter,
		namedMetric{title + ".failed", run.Counts{Role: run.StepFailed, Of: name}, &m.failed})
	return m, err
}
