package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A job is one command to run and measure. limit must be above 0.
type job struct {
	args   []string
	env    []string // in addition to ours
	dir    string   // working directory; empty: ours
	cpus   []int    // the CPUs it may use; empty: ours
	server []int    // processes whose CPU time is measured meanwhile
	limit  time.Duration
}

// A usage is the resources that a job used, and its output. exit is its exit status, -1 if
// a signal ended it.
type usage struct {
	start  time.Time     // of the fork
	wall   time.Duration // from the fork to the end of the process
	cpu    time.Duration // user and system, of the whole process tree
	server time.Duration // the same of the server's processes, while the job ran
	rss    int64         // bytes; the largest sum over the tree, sampled
	pss    int64         // the same with shared pages counted once, sampled rarely
	top    int64         // bytes; the largest of the command's own process, sampled
	last   child         // the process of the tree that was started last
	others float64       // CPUs that the rest of the machine used
	exit   int
	stdout []byte
	stderr []byte
}

// measure runs the job to its end, with its output in temporary files, which it removes.
// The error is a *failure if the command did not start, failed, exceeded its limit, was
// ended with ctx or left processes behind, which are killed; the usage is then that until
// its end. A command is ended by SIGTERM, and 10 s later by SIGKILL.
//
// cpu is wait4's figure for the child, which includes the grandchildren that the child
// waited for, as every tool here does.
func measure(ctx context.Context, j job) (usage, error) {
	ctx, cancel := context.WithTimeout(ctx, j.limit)
	defer cancel()
	out, err := newCapture()
	if err != nil {
		return usage{}, err
	}
	defer out.remove()

	cmd := exec.CommandContext(ctx, j.args[0], j.args[1:]...)
	cmd.Env, cmd.Dir = append(os.Environ(), j.env...), j.dir
	// Files instead of pipes: no goroutine of ours copies during the measurement.
	cmd.Stdout, cmd.Stderr = out.stdout, out.stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second // then SIGKILL

	var u usage
	busy, server := machineBusy(), cpuTime(j.server)
	u.start = time.Now()
	if err := pinned(j.cpus, cmd.Start); err != nil {
		return u, &failure{args: j.args, why: err}
	}
	tree := watch(cmd.Process.Pid)
	err = cmd.Wait()
	u.wall = time.Since(u.start)
	u.server = cpuTime(j.server) - server
	busy = machineBusy() - busy
	left := tree.stop()

	u.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	u.rss, u.pss, u.top, u.last, u.exit = tree.rss, tree.pss, tree.top, tree.last, cmd.ProcessState.ExitCode()
	u.others = max(0, (busy-u.cpu-u.server).Seconds()/u.wall.Seconds())
	u.stdout, u.stderr = out.read()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("stopped after %v", j.limit)
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case err == nil && len(left) > 0:
		err = fmt.Errorf("left processes running: %s", strings.Join(left, ", "))
	}
	if err != nil {
		return u, &failure{args: j.args, why: err, stdout: u.stdout, stderr: u.stderr}
	}
	return u, nil
}

// A failure is a command that failed: why, and its output so far, which may be empty.
type failure struct {
	args           []string
	why            error
	stdout, stderr []byte
}

func (f *failure) Unwrap() error { return f.why }

// Error returns the command, why it failed and the last 2,000 bytes of its standard error,
// or of its standard output if that is empty.
func (f *failure) Error() string {
	said := tail(f.stderr, 2000)
	if said == "" {
		said = tail(f.stdout, 2000)
	}
	if said != "" {
		said = "\n\t" + strings.ReplaceAll(said, "\n", "\n\t")
	}
	return fmt.Sprintf("%s: %v%s", strings.Join(f.args, " "), f.why, said)
}

// tail returns the last n bytes of b, without white space around it, after "... " if b is
// longer.
func tail(b []byte, n int) string {
	s := strings.TrimSpace(string(b))
	if len(s) > n {
		s = "... " + s[len(s)-n:]
	}
	return s
}

// A capture stores the output of a command in two files of a temporary directory. The
// caller must call remove.
type capture struct {
	dir            string
	stdout, stderr *os.File
}

// newCapture returns a capture with two empty files. On an error nothing is left behind.
func newCapture() (*capture, error) {
	dir, err := os.MkdirTemp("", "gobench-bench-")
	if err != nil {
		return nil, err
	}
	c := &capture{dir: dir}
	for name, f := range map[string]**os.File{"stdout": &c.stdout, "stderr": &c.stderr} {
		if *f, err = os.Create(filepath.Join(dir, name)); err != nil {
			c.remove()
			return nil, err
		}
	}
	return c, nil
}

// read returns what was written so far; nil for a file that can't be read, as after remove.
func (c *capture) read() (stdout, stderr []byte) {
	stdout, _ = os.ReadFile(c.stdout.Name())
	stderr, _ = os.ReadFile(c.stderr.Name())
	return stdout, stderr
}

// remove closes the files and removes their directory.
func (c *capture) remove() {
	c.stdout.Close() // a nil *os.File only returns an error
	c.stderr.Close()
	os.RemoveAll(c.dir)
}
