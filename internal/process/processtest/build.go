package processtest

import (
	"fmt"
	"os/exec"
	"path/filepath"
)

// Build builds the executors of this package into dir, as one program without the race
// detector and without symbols, and returns its path. It runs the go command, whose output is
// in the error, in the current folder, which must be in gobench's module.
func Build(dir string) (path string, err error) {
	path = filepath.Join(dir, "executor")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "github.com/gobench-io/gobench/internal/process/processtest/executor")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the executors of the tests: %w\n%s", err, out)
	}
	return path, nil
}
