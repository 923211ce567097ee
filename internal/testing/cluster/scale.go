//go:build linux

package cluster

import (
	"fmt"

	"github.com/gobench-io/gobench/internal/master"
	"github.com/gobench-io/gobench/internal/testing/long"
)

// scale multiplies the timeouts and intervals of all masters and agents, and so the time
// that tests take. Below it, a busy host of two CPUs would miss beats.
var scale = 0.4

// times are those of the masters.
var times = master.DefaultTimes().Scale(scale)

// fullTimes makes masters and agents use their default timeouts.
func fullTimes() { scale, times = 1, master.DefaultTimes() }

func init() {
	if long.Run {
		fullTimes()
	}
}

// timeScale is the flag by which gobench scales its times.
func timeScale() string { return fmt.Sprintf("--time-scale=%v", scale) }
