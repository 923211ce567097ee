// Gobench puts load on systems and measures how they behave. See README.md.
package main

import (
	"os"

	"github.com/gobench-io/gobench/internal/cli"
	"github.com/gobench-io/gobench/internal/confine"
)

func main() {
	confine.Main()
	os.Exit(cli.Main(sdk))
}
