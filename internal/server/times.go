package server

import (
	"cmp"

	"github.com/gobench-io/gobench/internal/agent"
	"github.com/gobench-io/gobench/internal/master"
	"github.com/gobench-io/gobench/internal/master/bus"
)

// timeScale is the factor of a cluster's timeouts and intervals. 0 means 1. Limits of work
// stay as they are, since work takes as long in tests as elsewhere. Its methods return the
// scaled Times of each package, with all fields set.
type timeScale float64

func (f timeScale) factor() float64 { return cmp.Or(float64(f), 1) }

func (f timeScale) bus() bus.Times { return bus.DefaultTimes().Scale(f.factor()) }

func (f timeScale) master() master.Times { return master.DefaultTimes().Scale(f.factor()) }

// agent leaves Send as it is.
func (f timeScale) agent() agent.Times {
	usual := agent.DefaultTimes()
	t := usual.Scale(f.factor())
	t.Send = usual.Send
	return t
}
