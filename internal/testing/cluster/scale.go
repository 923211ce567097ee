//go:build linux

package cluster

import (
	"fmt"

	"github.com/gobench-io/gobench/internal/master"
	"github.com/gobench-io/gobench/internal/testing/long"
)

// scale multiplies the timeouts and intervals of all masters and agents, and so the time
// that tests wait. With a much smaller one agents on a busy host of two CPUs would be lost.
var scale = 0.4

// times are those of the masters.
var times = master.DefaultTimes().Scale(scale)

// fullTimes makes masters and agents use their default times.
func fullTimes() { scale, times = 1, master.DefaultTimes() }

func init() {
	if long.Run {
		fullTimes()
	}
}

// timeScale returns the flag by which gobench scales its times.
func timeScale() string { return fmt.Sprintf("--time-scale=%v", scale) }
