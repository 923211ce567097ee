package build

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/process"
)

// job is one execution of the go command. All fields but idle must be set.
type job struct {
	path   string
	args   []string
	dir    string
	env    []string
	out    *output
	limits Limits
	idle   bool // with the lowest priority
}

const (
	memoryTick = 100 * time.Millisecond
	lastWords  = 2 * time.Second // wait for pipes that a killed process left open
)

// run runs the job in its own process group, which it kills if ctx ends or the memory limit is
// exceeded; on Linux the go command also ends with this process. It returns once the go
// command has ended; after a kill it waits up to lastWords for the group. The error is ctx's
// cause, a [*LimitError], go's own *exec.ExitError, or says why it could not be started.
func (j job) run(ctx context.Context) error {
	return process.OnOneThread(func() error { return j.runHere(ctx) })
}

// runHere is run, on one thread.
func (j job) runHere(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, j.path, j.args...)
	cmd.Dir, cmd.Env = j.dir, j.env
	cmd.Stdout, cmd.Stderr = j.out, j.out
	cmd.WaitDelay = lastWords
	cmd.SysProcAttr = groupAttr()
	cmd.Cancel = func() error { return killGroup(cmd.Process.Pid) }
	if err := cmd.Start(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("start %s: %w", j.path, err)
	}
	pid := cmd.Process.Pid
	if err := limitGroup(pid, j.limits, j.idle); err != nil {
		cancel(fmt.Errorf("limit the go command: %w", err))
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		j.watch(ctx, pid, cancel)
	}()
	err := cmd.Wait()
	cause := context.Cause(ctx)
	if cause != nil {
		endGroup(pid)
	}
	cancel(nil)
	<-watched
	if cause != nil {
		return cause
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return err
	}
	return nil
}

// endGroup kills processes that joined the group while it was being killed, and waits until
// all have ended, lastWords at most, so that nothing writes to files that are about to be
// removed.
func endGroup(pid int) {
	for end := time.Now().Add(lastWords); killGroup(pid) == nil && time.Now().Before(end); {
		time.Sleep(2 * time.Millisecond)
	}
}

// watch ends the job, with cancel and a *LimitError, if its process group exceeds the
// memory limit. It returns then, or once ctx ends.
func (j job) watch(ctx context.Context, pid int, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(memoryTick)
	defer tick.Stop()
	group := newGroup(pid)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if group.memory() > j.limits.Memory {
				cancel(sizeLimit("memory", j.limits.Memory))
				return
			}
		}
	}
}

// noMemory are the messages of Go's runtime and of the system for a refused page.
var noMemory = regexp.MustCompile(`(?m)^fatal error: .*memory|: cannot allocate memory$|^runtime: .*errno=12\b`)

// limitHit returns a *LimitError if the text of a go command shows that it failed because
// of a limit that the kernel enforces, else nil. It sets no Step.
func limitHit(text string, limits Limits) error {
	switch {
	case noMemory.MatchString(text):
		return sizeLimit("memory", limits.Memory)
	case strings.Contains(text, ": file too large"):
		return sizeLimit("output", limits.Output)
	}
	return nil
}
