// Gobench puts load on systems and measures how they behave. See README.md.
package main

import (
	"os"

	"github.com/gobench-io/gobench/internal/cli"
)

func main() { os.Exit(cli.Main(sdk)) }
