package master

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/run"
)

// Invalid options are refused with an error that names them.
func TestBadOptions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		for field, o := range map[string]run.Options{
			"options.duration_seconds":      {Duration: -1},
			"options.interval_seconds":      {Interval: 0.01},
			"options.limit_seconds":         {Limit: 1e9},
			"options.guards.error_rate":     {Guards: run.Guards{ErrorRate: 1.1}},
			"options.guards.p99_seconds":    {Guards: run.Guards{P99: -1}},
			"options.guards.window_seconds": {Guards: run.Guards{Window: 0.1}},
			"options.guards.max_rate":       {Guards: run.Guards{Rate: -1}},
			"options.guards.targets.1":      {Guards: run.Guards{Targets: []string{"a.example", "http://b.example"}}},
			"options.interval_seconds ":     {Interval: 2, Guards: run.Guards{P99: 1}},
			"options.on_lost":               {Lost: "panic"},
			"options.weights.one":           {Weights: map[string]int{"one": -1}},
			"options.seed":                  {Seed: 1 << 60},
			"options.thresholds.0":          {Thresholds: []string{"what"}},
		} {
			_, err := r.Submit(context.Background(), run.Submission{Name: "x", Source: run.Source{Scenario: "package main"}, Options: o})
			var wrong *run.InputError
			if !errors.As(err, &wrong) || wrong.Field != strings.TrimSpace(field) {
				t.Errorf("%s: %v", field, err)
			}
		}
	})
}

// A run that is queued again has the source, the name and the options of the first, though its
// application has changed.
func TestRerun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		ctx := t.Context()
		options := run.Options{Duration: 3, Seed: 7, Parameters: map[string]string{"a": "b"}}
		id := r.submit(options)
		o, err := r.Run(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		app, err := r.Application(ctx, o.Application)
		if err != nil {
			t.Fatal(err)
		}
		before := app.Source.Scenario
		app.Name, app.Source.Scenario = "another", "package main // changed"
		if err := r.PutApplication(ctx, app); err != nil {
			t.Fatal(err)
		}
		again, err := r.Rerun(ctx, id, "somebody")
		if err != nil {
			t.Fatal(err)
		}
		source, err := r.store.RunSource(ctx, again.ID)
		if err != nil || source.Scenario != before {
			t.Errorf("its source is %q, %v, want %q", source.Scenario, err, before)
		}
		if again.ID == id || again.Name != o.Name || again.Application != o.Application || again.Owner != "somebody" || again.State != run.Queued || !reflect.DeepEqual(again.Options, o.Options) {
			t.Errorf("it is %+v, want as %+v", again, o)
		}
		if _, err := r.Rerun(ctx, "20261121-191932-85hmfb", "somebody"); !errors.Is(err, run.ErrNotFound) {
			t.Errorf("of no run: %v", err)
		}
	})
}

func TestRerunOfImported(t *testing.T) {
	bubble(t, func(t *testing.T) {
		from, to := newRig(t, "one", "two"), newRig(t)
		id, archive := exported(t, from)
		if _, err := to.Import(t.Context(), bytes.NewReader(archive), "somebody"); err != nil {
			t.Fatal(err)
		}
		if _, err := to.Rerun(t.Context(), id, "somebody"); !errors.Is(err, run.ErrConflict) {
			t.Errorf("it has no source: %v", err)
		}
	})
}
