package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// usageFileEnv names the folder in which the processes of go test -exec write what
// their test binaries used.
const usageFileEnv = "GOBENCH_SUITE_USAGE"

// usage is what one test binary used, with all processes that it waited for.
type usage struct {
	Dir string        // of the package
	CPU time.Duration // user and system
}

// measured runs a test binary in place of go test, passes signals on to it, writes what it
// used into folder, and returns its exit status; 255 if a signal ended it, 1 if it could
// not be started.
func measured(folder string, args []string) int {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	cmd.Env = append(os.Environ(), usageFileEnv+"=")
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		return 1
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s) // it may have ended
		}
	}()
	_ = cmd.Wait() // its state says all
	if dir, err := os.Getwd(); err == nil {
		state := cmd.ProcessState
		b, _ := json.Marshal(usage{dir, state.UserTime() + state.SystemTime()})
		_ = os.WriteFile(filepath.Join(folder, fmt.Sprint(os.Getpid())+".json"), b, 0o600) // a figure less
	}
	return max(cmd.ProcessState.ExitCode(), -1) & 0xff
}
