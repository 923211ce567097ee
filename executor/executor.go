// Package executor is what scenarios and clients record with: declare metrics with
// [Setup], record with [Notify] by name or with a [Meter] from [Find], and
// use [From] to record where a user's ctx says.
//
// An executor is the program that gobench compiles from a scenario. [Main] is all
// that its main function calls.
package executor

import (
	"fmt"
	"os"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/load/allowlist"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/run/version"
)

// Version of gobench that this package belongs to.
const Version = version.Version

// SocketEnv names the environment variable by which gobench tells an executor where
// to attach.
const SocketEnv = "GOBENCH_SOCKET"

// Main runs vus as gobench asks it to, and exits. Thresholds are the conditions that
// the run is to meet. It is called by generated code.
func Main(vus scenario.Vus, thresholds ...string) {
	socket := os.Getenv(SocketEnv)
	if socket == "" {
		fmt.Fprintln(os.Stderr, "gobench: this is an executor, a scenario compiled by gobench\nhint: start it with: gobench run SCENARIO.go")
		os.Exit(2)
	}
	os.Unsetenv(SocketEnv) // not for the scenario's own children
	os.Unsetenv(scenario.ParamsEnv)
	os.Unsetenv(allowlist.Env) // which internal/load/conn has read
	if err := attach(socket, vus, thresholds, (*meter.Scope)(own).Registry); err != nil {
		fmt.Fprintln(os.Stderr, "gobench executor:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
