// Package builtin gives the loads that are built into gobench to scenarios: a load such
// as that of gobench http runs on a master's agents as a scenario of one line.
package builtin

import (
	"fmt"
	"os"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/builtin"
)

// Load gives the built-in load called name with the options that a file has, which
// gobench wrote. Where there is none to give, it says why and ends the executor.
func Load(name, file string) scenario.Vus {
	options, err := os.ReadFile(file)
	var vus scenario.Vus
	if err == nil {
		vus, err = builtin.Vus(name, options)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gobench:", err)
		os.Exit(2)
	}
	return vus
}
