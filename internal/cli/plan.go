package cli

import (
	"fmt"
	"time"

	"github.com/gobench-io/gobench/internal/live"
	"github.com/gobench-io/gobench/internal/report"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// planOf is what a run of these classes is to do.
func planOf(h *wire.Hello, load *loadFlags, hold bool) *live.Plan {
	p := &live.Plan{Duration: load.duration, Hold: hold, Warmup: load.warmup}
	for _, c := range h.Classes {
		p.Users += c.Nu
		class := live.Class{Name: c.Name, Users: c.Nu, Closed: c.Closed, Open: !c.Closed && len(c.Stages) > 0, Iterations: c.Iterations, Length: time.Duration(c.LoopNs)}
		if c.Each {
			class.Iterations *= c.Nu
		}
		for _, s := range c.Stages {
			class.Stages = append(class.Stages, live.Stage{To: s.To, Over: time.Duration(s.OverNs), Warmup: s.Warmup})
			class.Length += time.Duration(s.OverNs)
		}
		p.Classes = append(p.Classes, class)
	}
	return p
}

// settingUp says what is done before the load, and what the machine allows.
func settingUp(users int64, e *run.Environment) string {
	s := fmt.Sprintf("setting up %s users", report.Count(users))
	if e.OpenFiles > 0 && e.OpenFiles < 1<<40 { // else there is no limit
		s += fmt.Sprintf("; %s open files are allowed", report.Count(int64(e.OpenFiles)))
	}
	return s
}
