// Package agent runs executors on this host: it starts the process, serves the
// Unix socket that the process attaches to, gives it its part of the run, and
// hands on what it counts. When this process dies, its executors die; when an
// executor dies, Run says how.
package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/wire"
)

// Time limits of an executor's life.
const (
	StartLimit   = 15 * time.Second // from process start to hello
	cancelLimit  = 5 * time.Second  // from cancel to kill
	stopReserve  = 30 * time.Second // beyond the graceful time, from stop to kill
	exitLimit    = 2 * time.Second  // from the last batch to the process's end
	controlLimit = 5 * time.Second  // for a load to begin that is to be changed
	tailSize     = 64 << 10         // of its output kept for the report
)

// Spec says what to run. Path, Plan and Batch are needed.
type Spec struct {
	Path string   // of the executor
	Args []string // after the program's name
	Env  []string // in addition to this process's own
	Dir  string   // working directory; default this process's
	In   []byte   // what its standard input reads; nil: nothing
	Log  io.Writer

	// Hello, which may be nil, is shown what the executor has declared, before
	// anything else is done with it; an error ends the run and is Run's.
	Hello func(*wire.Hello) error
	// Plan gives the executor its start, knowing the classes it has declared.
	Plan func(*wire.Hello) (*wire.Start, error)
	// Started is called when the load begins, Stopping when it is over and drains.
	Started, Stopping func()
	// Seen takes what a look inside shows, from the start on. nil: nobody looks.
	Seen func(*wire.Seen)
	// Batch takes each batch, in order. An error ends the run.
	Batch func(*wire.Batch) error

	StartLimit time.Duration // default StartLimit
}

// Executor is one executor process. Run it once; Stop and Cancel may be called at
// any time by any goroutine.
type Executor struct {
	spec Spec

	stopOnce, cancelOnce sync.Once
	stop, cancel         chan struct{}

	controls chan control  // for the session
	over     chan struct{} // closed when Run returns
}

// control is a change that the session passes on.
type control struct {
	message *wire.Control
	reply   chan error // holds one
}

// New makes an executor, not yet started.
func New(spec Spec) *Executor {
	if spec.StartLimit == 0 {
		spec.StartLimit = StartLimit
	}
	return &Executor{spec: spec, stop: make(chan struct{}), cancel: make(chan struct{}),
		controls: make(chan control), over: make(chan struct{})}
}

// ErrNoLoad is Control's error when no load goes on.
var ErrNoLoad = errors.New("no load goes on")

// Control changes the load that goes on, and returns when the executor has done so,
// or its reason not to.
func (e *Executor) Control(m *wire.Control) error {
	c := control{m, make(chan error, 1)}
	select {
	case e.controls <- c:
	case <-e.over:
		return ErrNoLoad
	case <-time.After(controlLimit):
		return ErrNoLoad
	}
	select {
	case err := <-c.reply:
		return err
	case <-e.over:
		return ErrNoLoad
	}
}

// Stop asks for the end of the load: what is in flight drains.
func (e *Executor) Stop() { e.stopOnce.Do(func() { close(e.stop) }) }

// Cancel asks for the end at once; after 5 s the process is killed.
func (e *Executor) Cancel() { e.cancelOnce.Do(func() { close(e.cancel) }) }

// ErrScenario is wrapped by Run's error when the scenario itself cannot run: what
// export() returned is wrong, or a Setup failed. Its text says which and why.
var ErrScenario = errors.New("scenario")

// ErrCancelled is Run's error when Cancel came before the load began.
var ErrCancelled = errors.New("cancelled before the load began")

// DeadError says that an executor ended before its last batch.
type DeadError struct {
	How    string // "exited with status 3", "was killed by signal 9 (killed)"
	Output []byte // the end of what it printed, at most 64 KiB
}

func (e *DeadError) Error() string { return "the executor " + e.How }

// Run starts the process and returns when it has ended and nothing of it is left:
// nil when the last batch has been taken. The end of ctx kills it.
func (e *Executor) Run(ctx context.Context) error {
	defer close(e.over)
	dir, err := privateDir()
	if err != nil {
		return fmt.Errorf("make a folder for the executor's socket: %w", err)
	}
	defer os.RemoveAll(dir)
	srv, err := serve(dir)
	if err != nil {
		return fmt.Errorf("listen for the executor: %w", err)
	}
	defer srv.close()

	tail := &tailWriter{limit: tailSize}
	cmd := exec.Command(e.spec.Path, e.spec.Args...)
	cmd.Env = append(append(os.Environ(), e.spec.Env...), socketEnv+"="+srv.path)
	cmd.Dir = e.spec.Dir
	if e.spec.In != nil {
		cmd.Stdin = bytes.NewReader(e.spec.In)
	}
	cmd.Stdout = io.MultiWriter(tail, orDiscard(e.spec.Log))
	cmd.Stderr = cmd.Stdout
	proc, err := start(cmd)
	if err != nil {
		return fmt.Errorf("start the executor: %w", err)
	}
	s := &session{Executor: e, ctx: ctx, proc: proc, tail: tail}
	err = s.run(srv)
	if err == nil {
		proc.wait(exitLimit)
	}
	proc.kill()
	return err
}

func orDiscard(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}
