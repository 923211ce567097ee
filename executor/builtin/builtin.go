// Package builtin makes gobench's built-in loads available to scenarios: the load of gobench
// http, for example, runs on a master's agents as a scenario of one line.
package builtin

import (
	"fmt"
	"os"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/builtin"
)

// Load returns the built-in load name, such as "http", with the options in file, JSON that
// gobench wrote. If file can't be read or the load can't be made, it prints the error on the
// standard error and exits with status 2.
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
