package monitor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run/redact"
	"github.com/gobench-io/gobench/internal/wire"
)

// ParamError describes a wrong value of a scenario's parameter and what would be right.
type ParamError struct{ Text, Hint string }

func (e *ParamError) Error() string { return e.Text }

// CheckParams returns a *ParamError if a value is set for a parameter that the scenario
// does not declare, if a parameter is declared twice, or if one has no value. It does not
// check values.
func CheckParams(h *wire.Hello, set map[string]string) error {
	wrong := func(hint, format string, args ...any) error { return &ParamError{fmt.Sprintf(format, args...), hint} }
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
			return wrong(hint, "--set %s: the scenario declares no such parameter", name)
		}
	}
	for i, p := range h.Params {
		if slices.Index(known, p.Name) != i {
			return wrong("", "the scenario declares the parameter %s twice", p.Name)
		}
		if p.Default == "" && !p.Given {
			return wrong("add --set "+p.Name+"=VALUE", "the scenario's parameter %s has no value: %s", p.Name, p.Help)
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
