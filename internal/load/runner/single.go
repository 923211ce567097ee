package runner

import (
	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/wire"
)

// single returns the class and its share for a run with --once: one user and one iteration, or
// as many iterations as the share requires, or one of each task with a weight above 0. A Fu
// that is called once a user stays so. The arguments are not changed.
func single(vu scenario.Vu, share *wire.Share) (scenario.Vu, *wire.Share) {
	n := max(share.Iterations, 1)
	if vu.Load != nil && len(vu.Tasks) == 0 {
		vu.Load = scenario.Times(n)
	}
	if len(vu.Tasks) > 0 {
		n = 0
		for _, t := range vu.Tasks {
			if t.Weight > 0 {
				n++
			}
		}
		vu.Load = scenario.Times(n)
	}
	vu.Nu, vu.Rate = 1, 0
	return vu, &wire.Share{First: share.First, Nu: 1, Iterations: n, Part: 1}
}
