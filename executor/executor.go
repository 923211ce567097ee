// Package executor lets scenarios and clients declare and record metrics: [Setup] declares
// them, [Notify] records a value by name, and a [Meter] from [Find] records fast. [From]
// returns the [Recorder] of a user's ctx, which has the same methods.
//
// An executor is the program that gobench compiles from a scenario. Its main function calls
// [Main], and [Done] before it if the scenario has such a function, and nothing else.
package executor

import (
	"fmt"
	"os"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/load/allowlist"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/run/version"
)

// Version is the version of gobench that this package belongs to.
const Version = version.Version

// SocketEnv is the name of the environment variable that holds the path of the socket to
// which an executor attaches.
const SocketEnv = "GOBENCH_SOCKET"

// Main runs vus as the gobench process that started this executor requests, and exits.
// thresholds are the conditions of the run. Generated code calls it. It never returns: the
// exit status is 0 after a run, or if that process did not let it begin, 1 if the run could
// not start or that process is gone, and 2 if gobench did not start this process.
func Main(vus scenario.Vus, thresholds ...string) {
	socket := os.Getenv(SocketEnv)
	if socket == "" {
		fmt.Fprintln(os.Stderr, "gobench: this is an executor, a scenario compiled by gobench\nhint: start it with: gobench run SCENARIO.go")
		os.Exit(2)
	}
	os.Unsetenv(SocketEnv) // must not reach processes that the scenario starts
	os.Unsetenv(scenario.ParamsEnv)
	os.Unsetenv(allowlist.Env) // which internal/load/conn has read
	if err := attach(socket, vus, thresholds, (*meter.Scope)(own).Registry); err != nil {
		fmt.Fprintln(os.Stderr, "gobench executor:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
