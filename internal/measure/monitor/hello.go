package monitor

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/measure/threshold"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/redact"
	"github.com/gobench-io/gobench/internal/wire"
)

// Thresholds returns the thresholds of a run: those that its owner asked for, and those of the
// scenario, given as text. The error is a *run.UsageError: a threshold of the scenario has a wrong
// syntax, or one of a metric that is known before the load cannot have its statistic or unit, or
// there is no such metric: see threshold.Threshold.Exists. builtin is set for a load of gobench's own.
func Thresholds(h *wire.Hello, asked []threshold.Threshold, interval time.Duration, builtin bool) ([]threshold.Threshold, error) {
	all := slices.Clone(asked)
	for _, text := range h.Thresholds {
		t, err := threshold.ParseFor(text, interval)
		if err != nil {
			return nil, run.Usage("docs/thresholds.md has the grammar", "thresholds(): %w", err)
		}
		all = append(all, t)
	}
	var known []run.Metric
	for _, m := range h.Metrics {
		known = append(known, m.Metric())
	}
	for _, t := range all {
		if err := t.Suits(known); err != nil {
			return nil, run.Usage("docs/thresholds.md has which statistics and units a metric has", "threshold %q: %w", t, err)
		}
		if len(known) == 0 || len(known) >= wire.MaxKnown { // of an older gobench, or not all
			continue
		}
		if err := t.Exists(known, builtin); err != nil {
			return nil, run.Usage("docs/metrics.md has all metrics", "threshold %q: %w", t, err)
		}
	}
	return all, nil
}

// Classes returns the classes of a run as its record has them.
func Classes(h *wire.Hello) (all []run.Class) {
	for _, c := range h.Classes {
		x := run.Class{Name: c.Name, Users: c.Nu, Rate: c.Rate, Load: c.Load, Closed: c.Closed}
		for i, s := range c.Stages {
			if c.Closed || c.Poisson || i > 0 && s.To != c.Stages[0].To {
				x.Starts, x.StartsFor = 0, 0
				break
			}
			x.Starts, x.StartsFor = s.To, x.StartsFor+time.Duration(s.OverNs).Seconds()
		}
		all = append(all, x)
	}
	return all
}

// CheckParams returns a *run.UsageError if a value is set for a parameter that the scenario
// does not declare, if a parameter is declared twice, or if one has no value. It does not
// check values.
func CheckParams(h *wire.Hello, set map[string]string) error {
	var known []string
	for _, p := range h.Params {
		known = append(known, p.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if !slices.Contains(known, name) {
			hint := "it declares " + strings.Join(known, ", ")
			if len(known) == 0 {
				hint = "it declares none: scenario.Param does"
			}
			return run.Usage(hint, "--set %s: the scenario declares no such parameter", name)
		}
	}
	for i, p := range h.Params {
		if slices.Index(known, p.Name) != i {
			return run.Usage("", "the scenario declares the parameter %s twice", p.Name)
		}
		if p.Default == "" && !p.Given {
			return run.Usage("add --set "+p.Name+"=VALUE", "the scenario's parameter %s has no value: %s", p.Name, p.Help)
		}
	}
	return nil
}

// Params returns the values that the scenario uses, by name, for the run's record. Values
// of secret parameters are replaced by redact.Mark, as are secrets in the URLs of others.
func Params(h *wire.Hello) map[string]string {
	values := map[string]string{}
	for _, p := range h.Params {
		if values[p.Name] = redact.Line(p.Value); redact.Secret(p.Name) {
			values[p.Name] = redact.Mark
		}
	}
	return values
}

// Plan returns the load that a run of these classes is to make. A class's Iterations are
// those of all its users together, its Length that of its stages or loop.
func Plan(classes []*wire.Class, duration time.Duration, hold bool, warmup time.Duration) *event.Plan {
	p := &event.Plan{Duration: duration, Hold: hold, Warmup: warmup}
	for _, c := range classes {
		p.Users += c.Nu
		class := event.Class{Name: c.Name, Users: c.Nu, Closed: c.Closed, Open: !c.Closed && len(c.Stages) > 0, Iterations: c.Iterations, Length: time.Duration(c.LoopNs)}
		if c.Each {
			class.Iterations *= c.Nu
		}
		for _, s := range c.Stages {
			class.Stages = append(class.Stages, event.Stage{To: s.To, Over: time.Duration(s.OverNs), Warmup: s.Warmup})
			class.Length += time.Duration(s.OverNs)
		}
		p.Classes = append(p.Classes, class)
	}
	return p
}
