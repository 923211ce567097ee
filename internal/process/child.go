package process

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/gobench-io/gobench/internal/run/system"
)

// child is an operating system process in its own process group. On Linux the kernel kills
// it when this process dies.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed once it has ended and its output is read
	err  error         // of Wait, once done is closed
}

// OnOneThread calls f, which starts a child process and waits for it, on a thread that exists
// until f returns, and returns f's error. The kernel sends a child the parent-death signal when
// the thread that started it ends (golang/go#27505), which a thread may do at any time.
func OnOneThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		done <- f()
	}()
	return <-done
}

// start starts cmd and returns its process, for which the caller must call kill. After the
// child's end its output is read for the given time at most, while another process holds it
// open. start replaces cmd's SysProcAttr and WaitDelay.
func start(cmd *exec.Cmd, output time.Duration) (*child, error) {
	c := &child{cmd: cmd, done: make(chan struct{})}
	setAttributes(cmd)
	cmd.WaitDelay = output
	started := make(chan error)
	go func() {
		_ = OnOneThread(func() error { // started and c.err have its errors
			err := cmd.Start()
			started <- err
			if err == nil {
				c.err = cmd.Wait()
				close(c.done)
			}
			return err
		})
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// wait waits for the process to end and its output to be read, at most limit, and reports
// whether that happened. It may be called repeatedly.
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

// kill kills the process group, which includes what the executor has started unless that has
// left the group, and waits for the executor to end. On Windows it kills the executor alone.
// It may be called again, and after the executor's end.
func (c *child) kill() {
	if runtime.GOOS == "windows" { // no groups, and the id of a process that has ended may be another's
		_ = c.cmd.Process.Kill() // it may have ended
	} else {
		system.KillGroup(c.cmd.Process.Pid)
	}
	<-c.done
}

// how waits for the process to end and describes it, as DeadError.How and Cause; Cause is
// CauseExit or CauseSignal.
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
