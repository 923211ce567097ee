// Command executor is each executor of package processtest, by the environment of
// processtest.Env. Tests build it with [processtest.Build], since it is a third of a test
// binary in size and has no race detector.
package main

import "github.com/gobench-io/gobench/internal/process/processtest"

func main() { processtest.Main() }
