package meter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/measure/delay"
	"github.com/gobench-io/gobench/internal/measure/transcript"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// stepMeters are the meters of a step.
type stepMeters struct{ time, failed Meter }

type stepsKey struct{}

// steps returns the steps of r, the same at each call.
func (r *Registry) steps() *Named[stepMeters] {
	v, _ := r.Shared(stepsKey{}, func() (any, error) { return new(Named[stepMeters]), nil }) // it never fails
	return v.(*Named[stepMeters])
}

// DeclareStep declares the metrics of a step before Time is called for it. The error is that of
// DeclareGraph.
func (r *Registry) DeclareStep(name string) error {
	_, err := r.steps().Get(name, r.declareStep)
	return err
}

// Time runs f as a step and returns f's error. A successful step records its duration in
// step.NAME.time. A failed one adds 1 to step.NAME.failed, and its error is counted by its text
// unless the client that returned it has counted it. A step that failed after ctx ended, or with
// context.Canceled, is not counted. If step can't be declared, Time returns an error without
// calling f. Any number of goroutines may call Time at once.
func (s *Scope) Time(ctx context.Context, step string, f func() error) error {
	m, err := s.Registry.steps().Get(step, s.Registry.declareStep)
	if err != nil {
		return fmt.Errorf("step %q: %w", step, err)
	}
	start, began := delay.Now(), time.Now()
	before := s.Own(start)
	err = f()
	end := delay.Now()
	took := end - start
	switch {
	case err == nil:
		own := s.Own(end)
		own.Delay -= before.Delay
		e := s.Entry()
		e.RecordTime(m.time, took, own)
		e.Close()
	case ctx.Err() == nil && !errors.Is(err, context.Canceled):
		s.Record(m.failed, 1)
		var counted interface{ Counted() bool }
		if !errors.As(err, &counted) || !counted.Counted() { // otherwise the client has counted the text
			s.Registry.Failed(s.Phase(), "step."+step, "step", err.Error())
			s.Sample("step."+step, "step", func() transcript.Exchange {
				return transcript.Exchange{What: fmt.Sprintf("step %q failed", step), Began: began, Parts: []transcript.Part{{Name: "after", Took: took}}, Error: err.Error()}
			})
		}
	}
	s.Remark(func() string {
		if err != nil {
			return fmt.Sprintf("step %q failed after %s", step, units.Millis(took.Seconds()*1e3))
		}
		return fmt.Sprintf("step %q took %s", step, units.Millis(took.Seconds()*1e3))
	})
	return err
}

// declareStep declares the two metrics of the step name and returns their meters, not all of
// them with an error, which is that of DeclareGraph.
func (r *Registry) declareStep(name string) (m stepMeters, err error) {
	title := "step." + name
	if err = r.DeclareGraph("Steps", metrics.Graph{Title: title + " time", Unit: "ns"}, metrics.Histogram,
		One{title + ".time", run.Counts{Role: run.StepTime, Of: name}, &m.time}); err != nil {
		return m, err
	}
	err = r.DeclareGraph("Steps", metrics.Graph{Title: title, Unit: "N"}, metrics.Counter,
		One{title + ".failed", run.Counts{Role: run.StepFailed, Of: name}, &m.failed})
	return m, err
}
