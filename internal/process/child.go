package process

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// child is an operating system process in a process group of its own. It dies with this process, where
// the system can do that (Linux).
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and its output is read
	err  error         // of Wait, once done is closed
}

// start starts cmd. The thread that starts a child must live as long as the child,
// since the kernel sends the parent-death signal when that thread ends
// (golang/go#27505): so one goroutine keeps its thread, starts and waits.
func start(cmd *exec.Cmd, output time.Duration) (*child, error) {
	c := &child{cmd: cmd, done: make(chan struct{})}
	setAttributes(cmd)
	cmd.WaitDelay = output // a grandchild that holds the output does not hold us
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		c.err = cmd.Wait()
		close(c.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// wait waits for the process's own end, at most limit, and tells whether it came.
func (c *child) wait(limit time.Duration) bool {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-c.done:
		return true
	case <-t.C:
		return false
	}
}

// kill kills the process group, with all that the executor has started and not set
// apart, and waits for the executor's end.
func (c *child) kill() {
	KillGroup(c.cmd.Process.Pid)
	<-c.done
}

// KillGroup kills the process group pid, if it exists.
func KillGroup(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGKILL) // no such group: it is gone
}

// how tells how the process ended, and the cause.
func (c *child) how() (text, cause string) {
	<-c.done
	var exit *exec.ExitError
	switch {
	case c.err == nil:
		return "exited before its last batch", CauseExit
	case !errors.As(c.err, &exit):
		return "ended: " + c.err.Error(), CauseExit
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Sprintf("was killed by signal %d (%v)", status.Signal(), status.Signal()), CauseSignal
	}
	return fmt.Sprintf("exited with status %d", exit.ExitCode()), CauseExit
}
