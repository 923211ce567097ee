package agent

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a child in a process group of its own. It dies with this process, where
// the system can do that (Linux).
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and its output is read
	err  error         // of Wait, once done is closed
}

// start starts cmd. The thread that starts a child must live as long as the child,
// since the kernel sends the parent-death signal when that thread ends
// (golang/go#27505): so one goroutine keeps its thread, starts and waits.
func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	setAttributes(cmd)
	cmd.WaitDelay = time.Second // a grandchild that holds the output does not hold us
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// wait waits for the process's own end, at most limit, and tells whether it came.
func (p *process) wait(limit time.Duration) bool {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-t.C:
		return false
	}
}

// kill kills the process group, with all that the executor has started and not set
// apart, and waits for the executor's end.
func (p *process) kill() {
	killGroup(p.cmd.Process.Pid)
	<-p.done
}

func killGroup(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGKILL) // no such group: it is gone
}

// how tells how the process ended, and the cause.
func (p *process) how() (text, cause string) {
	<-p.done
	var exit *exec.ExitError
	switch {
	case p.err == nil:
		return "exited before its last batch", CauseExit
	case !errors.As(p.err, &exit):
		return "ended: " + p.err.Error(), CauseExit
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Sprintf("was killed by signal %d (%v)", status.Signal(), status.Signal()), CauseSignal
	}
	return fmt.Sprintf("exited with status %d", exit.ExitCode()), CauseExit
}
