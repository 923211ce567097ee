package master

import (
	"errors"
	"fmt"
	"math"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// Limits of what an executor may declare. Executors enforce them too.
const (
	maxClasses = 100
	maxStages  = 10_000
	maxUsers   = 10_000_000
)

// checkHello returns an error if no executor can have sent this hello: agents are not
// trusted. A hello with an Error is accepted, as the rest of it is not used.
func checkHello(h *wire.Hello) error {
	switch {
	case h == nil:
		return errors.New("its executor has sent nothing")
	case h.Error != "": // the rest is not used
		return nil
	case h.Protocol != wire.Protocol:
		return fmt.Errorf("its executor speaks protocol %d, and the master speaks %d", h.Protocol, wire.Protocol)
	case len(h.Classes) == 0 || len(h.Classes) > maxClasses:
		return fmt.Errorf("its executor declares %d classes of users: want 1 to %d", len(h.Classes), maxClasses)
	case len(h.Metrics) > wire.MaxKnown:
		return fmt.Errorf("its executor names %d metrics: want at most %d", len(h.Metrics), wire.MaxKnown)
	}
	for _, m := range h.Metrics {
		if typ := run.MetricType(m.GetType()); !typ.Known() || !m.Metric().Role.Fits(typ) {
			return fmt.Errorf("its executor has a metric %.100q of type %.100q and role %.100q", m.GetTitle(), m.GetType(), m.GetRole())
		}
	}
	seen := map[string]bool{}
	for _, c := range h.Classes {
		if c.GetName() == "" || seen[c.Name] {
			return fmt.Errorf("its executor declares a class called %q, which has to have a name of its own", c.GetName())
		}
		seen[c.Name] = true
		if err := checkClass(c); err != nil {
			return fmt.Errorf("its executor's class %.100q: %w", c.Name, err)
		}
	}
	return nil
}

// checkClass returns an error if no executor can have declared this class. c must not be nil.
func checkClass(c *wire.Class) error {
	switch {
	case c.Nu < 1 || c.Nu > maxUsers:
		return fmt.Errorf("it has %d users: want 1 to %d", c.Nu, maxUsers)
	case !number(c.Rate):
		return fmt.Errorf("its rate is %v", c.Rate)
	case c.Iterations < 0 || c.LoopNs < 0:
		return fmt.Errorf("it has %d iterations, and loops for %d ns", c.Iterations, c.LoopNs)
	case len(c.Stages) > maxStages:
		return fmt.Errorf("it has %d stages: want at most %d", len(c.Stages), maxStages)
	}
	for _, s := range c.Stages {
		if s == nil || !number(s.To) || s.OverNs < 0 {
			return fmt.Errorf("a stage is %v", s)
		}
	}
	return nil
}

// number reports whether x is finite and not negative.
func number(x float64) bool { return x >= 0 && !math.IsInf(x, 1) }
