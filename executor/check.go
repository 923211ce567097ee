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
	"github.com/gobench-io/gobench/internal/measure/transcript"
)

// checkMeters count the outcomes of a check.
type checkMeters struct{ passed, failed meter.Meter }

// Check counts whether something held, by name, and returns ok: a failed check
// changes no latency and ends nothing. Its counters are check.NAME.passed and
// check.NAME.failed; a threshold may ask for their share, as in
// `check "has a body" rate > 99%`. Name is a fixed text of at most 100 bytes: one
// that differs from call to call is a metric each.
//
// A name that can't be declared, since it is too long or the run has too many
// metrics, is counted as an error of source "check".
func Check(ctx context.Context, name string, ok bool) bool {
	r := From(ctx)
	m, err := r.names().checks.get(name, r.declareCheck)
	switch {
	case err != nil:
		r.Error("check", "declare", err.Error())
	case ok:
		m.passed.Add(1)
	default:
		m.failed.Add(1)
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

// caller tells where the scenario called this package.
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

func (r *Recorder) declareCheck(name string) (m checkMeters, err error) {
	title := "check." + name
	err = r.declare("Checks", metrics.Graph{Title: title, Unit: "N", Metrics: []metrics.Metric{
		{Title: title + ".passed", Type: metrics.Counter}, {Title: title + ".failed", Type: metrics.Counter},
	}}, &m.passed, &m.failed)
	return m, err
}

// stepMeters measure a step.
type stepMeters struct{ time, failed meter.Meter }

// Time runs f as a step of a scenario (a transaction, as "log in") and returns its
// error. A step that succeeds adds its time to the histogram step.NAME.time, one
// that fails counts under step.NAME.failed and its error by text, with no time. A
// step that the end of ctx cut short counts nowhere. Steps may contain each other.
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
		m.time.Record(int64(took))
	case ctx.Err() == nil && !errors.Is(err, context.Canceled):
		m.failed.Add(1)
		var counted interface{ Counted() bool }
		if !errors.As(err, &counted) || !counted.Counted() { // else its client has told the text
			r.Error("step."+step, "step", err.Error())
			r.Sample("step."+step, "step", func() Exchange {
				return Exchange{What: fmt.Sprintf("step %q failed", step), Began: began, Parts: []Part{{Name: "after", Took: took}}, Error: err.Error()}
			})
		}
	}
	r.remark(func() string {
		if err != nil {
			return fmt.Sprintf("step %q failed after %s", step, transcript.Duration(took))
		}
		return fmt.Sprintf("step %q took %s", step, transcript.Duration(took))
	})
	return err
}

func (r *Recorder) declareStep(name string) (m stepMeters, err error) {
	title := "step." + name
	if err = r.declare("Steps", metrics.Graph{Title: title + " time", Unit: "ns", Metrics: []metrics.Metric{{Title: title + ".time", Type: metrics.Histogram}}}, &m.time); err != nil {
		return m, err
	}
	err = r.declare("Steps", metrics.Graph{Title: title, Unit: "N", Metrics: []metrics.Metric{{Title: title + ".failed", Type: metrics.Counter}}}, &m.failed)
	return m, err
}
