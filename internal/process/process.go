package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gobench-io/gobench/internal/wire"
)

// tailSize is how many bytes at the end of the executor's output a DeadError holds.
const tailSize = 64 << 10

// Spec says what to run. Path and Batch are needed.
type Spec struct {
	Path string   // of the executor
	Args []string // after the program's name
	Env  []string // in addition to this process's own
	Dir  string   // working directory; default this process's
	In   []byte   // what its standard input reads; nil: nothing
	Log  io.Writer

	// Make, which may be nil, makes the command in the place of Path, Args and Dir, with an
	// environment of env alone; what it runs must become the executor in the same process.
	// Its ExtraFiles are closed once it is started.
	Make func(env []string) (*exec.Cmd, error)
	// Socket is where the executor is listened for; empty: in a private folder of its own.
	// It belongs to the user Owner; 0: to this process's.
	Socket string
	Owner  int

	// Hello, which may be nil, is shown what the executor has declared, before
	// anything else is done with it; an error ends the run and is Run's.
	Hello func(*wire.Hello) error
	// Plan gives the executor its start, knowing the classes it has declared. nil: Run
	// waits for Arm, and then for Begin.
	Plan func(*wire.Hello) (*wire.Start, error)
	// Started is called when the load begins, Stopping when it is over and drains.
	Started, Stopping func()
	// Seen takes what a look inside shows, from the start on. nil: nobody looks.
	Seen func(*wire.Seen)
	// Batch takes each batch, in order. An error ends the run.
	Batch func(*wire.Batch) error

	Times Times // zero: DefaultTimes
}

// Process is one executor process. Run it once; the other methods may be called at
// any time by any goroutine.
type Process struct {
	spec Spec

	stopOnce, cancelOnce sync.Once
	stop, cancel         chan struct{}

	requests chan func(*supervisor) // for the supervisor to do
	over     chan struct{}          // closed when Run returns

	greeted chan struct{} // closed once hello is there
	hello   *wire.Hello
	armed   chan arming
	ready   chan struct{} // closed once the executor has said so
	begun   chan beginning
	pid     atomic.Int64  // 0 until the process is started
	lease   atomic.Int64  // of the last Renew, in ns
	renewed chan struct{} // holds one: lease is to be passed on

	mu  sync.Mutex
	end error // of Run; guarded by mu until over is closed
}

// arming is a start that Arm gives.
type arming struct {
	start *wire.Start
	reply chan error // holds one
}

// beginning is when Begin has the load begin.
type beginning struct {
	at    time.Time
	lease time.Duration
	reply chan error // holds one
}

// New returns a process that is not yet started.
func New(spec Spec) *Process {
	if spec.Times == (Times{}) {
		spec.Times = DefaultTimes()
	}
	return &Process{spec: spec, stop: make(chan struct{}), cancel: make(chan struct{}),
		requests: make(chan func(*supervisor)), over: make(chan struct{}), greeted: make(chan struct{}),
		armed: make(chan arming), ready: make(chan struct{}), begun: make(chan beginning),
		renewed: make(chan struct{}, 1)}
}

// Stop asks for the end of the load: what is in flight drains.
func (p *Process) Stop() { p.stopOnce.Do(func() { close(p.stop) }) }

// Cancel asks for the end at once; after Times.Cancel the process is killed.
func (p *Process) Cancel() { p.cancelOnce.Do(func() { close(p.cancel) }) }

// ErrScenario is wrapped by Run's error when the scenario itself cannot run: what
// export() returned is wrong, or a Setup failed. Its text says which and why.
var ErrScenario = errors.New("scenario")

// ErrCancelled is Run's error when Cancel came before the load began.
var ErrCancelled = errors.New("cancelled before the load began")

// DeadError says that an executor ended before its last batch.
type DeadError struct {
	How    string // "exited with status 3", "was killed by signal 9 (killed)"
	Cause  string // CauseExit, CauseSignal, CauseStuck
	Output []byte // the end of what it printed, at most 64 KiB
}

// Why an executor ended, for programs.
const (
	CauseExit   = "exit"   // by itself
	CauseSignal = "signal" // killed by somebody
	CauseStuck  = "stuck"  // killed by us, since it did not do what it was asked
)

func (e *DeadError) Error() string { return "the executor " + e.How }

// Run starts the process and returns when it has ended and nothing of it is left:
// nil when the last batch has been taken. The end of ctx kills it.
func (p *Process) Run(ctx context.Context) error {
	err := p.run(ctx)
	p.mu.Lock()
	p.end = err
	p.mu.Unlock()
	close(p.over)
	return err
}

func (p *Process) run(ctx context.Context) error {
	srv, clean, err := p.listen()
	if err != nil {
		return err
	}
	defer clean()
	tail := &tailWriter{limit: tailSize}
	cmd, err := p.command(srv.path)
	if err != nil {
		return fmt.Errorf("start the executor: %w", err)
	}
	if p.spec.In != nil {
		cmd.Stdin = bytes.NewReader(p.spec.In)
	}
	cmd.Stdout = io.MultiWriter(tail, orDiscard(p.spec.Log))
	cmd.Stderr = cmd.Stdout
	child, err := start(cmd, p.spec.Times.Output)
	for _, f := range cmd.ExtraFiles {
		f.Close()
	}
	if err != nil {
		return fmt.Errorf("start the executor: %w", err)
	}
	p.pid.Store(int64(child.cmd.Process.Pid))
	srv.expect(child.cmd.Process.Pid, p.owner())
	s := &supervisor{Process: p, ctx: ctx, child: child, tail: tail}
	err = s.run(srv)
	if err == nil {
		child.wait(p.spec.Times.Exit)
	}
	child.kill()
	return err
}

// listen serves the executor's socket until clean is called.
func (p *Process) listen() (srv *server, clean func(), err error) {
	path, remove := p.spec.Socket, func() {}
	if path == "" {
		dir, err := privateDir()
		if err != nil {
			return nil, nil, fmt.Errorf("make a folder for the executor's socket: %w", err)
		}
		path, remove = filepath.Join(dir, "s"), func() { os.RemoveAll(dir) }
	}
	if srv, err = serve(path, p.spec.Owner); err != nil {
		remove()
		return nil, nil, fmt.Errorf("listen for the executor: %w", err)
	}
	return srv, func() { srv.close(); remove() }, nil
}

// command makes what is run.
func (p *Process) command(socket string) (*exec.Cmd, error) {
	env := append(slices.Clone(p.spec.Env), socketEnv+"="+socket)
	if p.spec.Make != nil {
		return p.spec.Make(env)
	}
	cmd := exec.Command(p.spec.Path, p.spec.Args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Dir = p.spec.Dir
	return cmd, nil
}

// owner is the user that the process runs as.
func (p *Process) owner() int {
	if p.spec.Owner != 0 {
		return p.spec.Owner
	}
	return os.Getuid()
}

func orDiscard(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}
