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

// Spec describes an executor process. Batch is required, and Path or Make. Run calls the
// functions one at a time, from its own goroutine; a slow one delays the executor.
type Spec struct {
	Path string    // of the executor
	Args []string  // after the program's name
	Env  []string  // in addition to this process's environment
	Dir  string    // working directory; empty for this process's
	In   []byte    // standard input; nil for an empty one
	Log  io.Writer // receives standard output and standard error; may be nil

	// Make, if set, returns the command to run instead of Path, Args and Dir. The command's
	// environment must be env, and its process must become the executor itself. Run closes
	// its ExtraFiles once it is started.
	Make func(env []string) (*exec.Cmd, error)
	// Socket is the path of the Unix socket that the executor attaches to. If it is empty,
	// Run creates one in a private folder and removes it at the end.
	Socket string
	// Owner is the user id that the executor runs as, which owns the socket; 0 for this
	// process's user.
	Owner int

	// Hello, if set, is called first, with what the executor declares. If it returns an
	// error, the executor is killed and Run returns that error.
	Hello func(*wire.Hello) error
	// Plan returns the executor's start for the classes it has declared. If Plan is nil,
	// Run waits for Arm and then for Begin.
	Plan func(*wire.Hello) (*wire.Start, error)
	// Started is called when the load begins, and Stopping when it is over and the
	// iterations in flight drain, for at most limit. Both may be nil.
	Started  func()
	Stopping func(limit time.Duration)
	// Seen, if set, receives the exchanges, checks and steps that the executor reports in detail.
	Seen func(*wire.Seen)
	// Batch receives each batch, in order. If it returns an error, the executor is killed
	// and Run returns that error.
	Batch func(*wire.Batch) error

	Times Times // zero: DefaultTimes
}

// Process is one executor process. Run must be called once. The other methods may be
// called at any time, by any number of goroutines.
type Process struct {
	spec Spec

	stopOnce, cancelOnce sync.Once
	stop, cancel         chan struct{}

	requests chan func(*supervisor) // for the supervisor to do
	over     chan struct{}          // closed when Run returns

	greeted chan struct{} // closed once hello is set
	hello   *wire.Hello
	armed   chan arming
	ready   chan struct{} // closed once the executor is ready
	begun   chan beginning
	pid     atomic.Int64  // 0 until the process is started
	lease   atomic.Int64  // of the last Renew, in ns
	renewed chan struct{} // holds one element if lease has to be sent

	mu     sync.Mutex
	end    error  // of Run; guarded by mu until over is closed
	signal string // that the executor reported; written by Run
}

// arming is a call of Arm.
type arming struct {
	start *wire.Start
}

// beginning is a call of Begin.
type beginning struct {
	at    time.Time
	lease time.Duration
	reply chan error // has room for one
}

// New returns a process that is not started; Run starts it. It needs no closing. spec is not
// checked.
func New(spec Spec) *Process {
	if spec.Times == (Times{}) {
		spec.Times = DefaultTimes()
	}
	return &Process{spec: spec, stop: make(chan struct{}), cancel: make(chan struct{}),
		requests: make(chan func(*supervisor)), over: make(chan struct{}), greeted: make(chan struct{}),
		armed: make(chan arming), ready: make(chan struct{}), begun: make(chan beginning),
		renewed: make(chan struct{}, 1)}
}

// Stop asks the executor to end its load and let the iterations in flight finish. It
// returns at once; the process is killed if it has not ended Times.Stop after the graceful
// time of its start, or before if Cancel was called, too. Before the load it has the effect of
// Cancel.
func (p *Process) Stop() { p.stopOnce.Do(func() { close(p.stop) }) }

// Cancel asks the executor to end its load now. It returns at once; the process is killed
// if it has not ended after Times.Cancel. Before the load, Run returns ErrCancelled.
func (p *Process) Cancel() { p.cancelOnce.Do(func() { close(p.cancel) }) }

// Signal returns the signal from elsewhere that ended the load early, as "SIGTERM". It returns
// "" if none did, or if Stop or Cancel was called, too. Call it after Run has returned.
func (p *Process) Signal() string {
	select {
	case <-p.stop:
	case <-p.cancel:
	default:
		return p.signal
	}
	return ""
}

// ErrScenario is wrapped by Run's error if the scenario itself cannot run: export()
// returned an invalid value, or a Setup failed. The error's text has the reason.
var ErrScenario = errors.New("scenario")

// ErrCancelled is returned by Run if Cancel or Stop was called before the load began.
var ErrCancelled = errors.New("cancelled before the load began")

// DeadError is returned by Run if the executor ended before its last batch.
type DeadError struct {
	How    string // "exited with status 3", "was killed by signal 9 (killed)"
	Cause  string // CauseExit, CauseSignal, CauseStuck
	Output []byte // the last 64 KiB that it printed
}

// Values of DeadError.Cause.
const (
	CauseExit   = "exit"   // it exited
	CauseSignal = "signal" // it was killed by a signal from elsewhere
	CauseStuck  = "stuck"  // this package killed it, since it did not follow the protocol in time
)

func (e *DeadError) Error() string { return "the executor " + e.How }

// Run starts the process, follows it, and returns when it has ended and its process group has
// been killed. It returns nil once Batch has accepted the last batch, and else ErrCancelled, a
// *DeadError, an error that wraps ErrScenario, the error of ctx or of one of Spec's functions,
// or one about the start or a breach of the protocol. The end of ctx kills the process. Run
// must be called once.
func (p *Process) Run(ctx context.Context) error {
	err := p.run(ctx)
	p.mu.Lock()
	p.end = err
	p.mu.Unlock()
	close(p.over)
	return err
}

// run is Run, which then ends the steps that still wait. After an error before the process's
// start nothing of it is left.
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

// listen serves the executor's socket. The caller must call clean, which stops serving and
// removes what listen created. After an error nothing is left and clean is nil.
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

// command returns the command that starts the executor, with the socket's path in its
// environment; Spec.Make receives only that and Spec.Env. The error is that of Spec.Make.
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

// owner returns the user id that the process runs as: Spec.Owner or this process's.
func (p *Process) owner() int {
	if p.spec.Owner != 0 {
		return p.spec.Owner
	}
	return os.Getuid()
}

// orDiscard returns w, or io.Discard for nil.
func orDiscard(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}
