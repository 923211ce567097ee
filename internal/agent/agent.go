package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/agent/blobs"
	"github.com/gobench-io/gobench/internal/agent/hoststat"
	"github.com/gobench-io/gobench/internal/agent/sandbox"
	"github.com/gobench-io/gobench/internal/run/filelock"
	"github.com/gobench-io/gobench/internal/run/version"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
	"github.com/gobench-io/gobench/internal/wire/compress"
)

// Options configures an agent. Dir, Bus and ID are required.
type Options struct {
	Dir   string         // its data: deliveries, blobs; no other agent may use it
	Work  string         // where the private folders of runs are created; empty for the temporary folder
	Bus   Bus            // connects it with its master
	ID    string         // that it joined with
	Hello *agentpb.Hello // name, address and other values that the agent does not find out itself; may be nil
	Log   *slog.Logger   // nil for none

	Same   bool  // run executors as this process's user, even where another could be used
	Memory int64 // bytes that the executors of a run may use, where the system can limit them; 0 for no limit
	Blobs  int64 // bytes of executors and files that are cached; 0 for 4 GiB

	Times Times // the zero value means DefaultTimes; else each field must be positive

	Ledgers string // folder to which the executors' own ledgers of what they count are copied, for tests; empty for none
}

// Agent is a host of a cluster: it runs the executors that its master asks for and delivers
// what they count. Run is its only entry, and sets the fields that the other methods use.
type Agent struct {
	o     Options
	log   *slog.Logger
	boot  uint64
	hello *agentpb.Hello
	blobs *blobs.Cache
	out   *outbox
	codec *compress.Codec // of batches that are packed
	watch *hoststat.Watch

	ctx  context.Context // of Run; contexts of runs derive from it
	turn sync.Mutex      // held by Prepare, Arm and Begin, of which one is done at a time

	recording sync.Mutex // held while run.json is written

	mu       sync.Mutex
	run      *agentRun         // nil if nothing runs; guarded by mu, as all below
	epochs   map[string]uint64 // the newest epoch known of runs that are over here
	used     map[string]uint64 // the newest epoch in which executors of them were started
	answers  []answered        // of the last commands
	host     *agentpb.Host
	profiles []string // digests of profiles of the run
}

// answered is a command and its answer.
type answered struct {
	id     string
	answer *agentpb.Answer
}

// New returns an agent that is not started; Run starts it. It fills in the defaults of o
// and checks nothing else.
func New(o Options) *Agent {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Blobs == 0 {
		o.Blobs = 4 << 30
	}
	if o.Times == (Times{}) {
		o.Times = DefaultTimes()
	}
	return &Agent{o: o, log: o.Log, boot: rand.Uint64(), epochs: map[string]uint64{}, used: map[string]uint64{}}
}

// Run runs the agent until ctx ends or its bus fails. It returns the failure, or at the end of
// ctx nil (ctx's cause if it was cancelled with one). It returns an error at once if another
// agent uses Options.Dir, if it cannot create a sandbox, or if it cannot end what a previous
// process of this agent has left running, which it does before the first beat. It must be
// called once.
//
// At the end it cancels the run and waits until nothing of it is left, sends deliveries for
// Times.Stop at most, and leaves the rest on disk for the next start, or returns why not.
func (a *Agent) Run(ctx context.Context) error {
	if err := os.MkdirAll(a.o.Dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(a.o.Dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := lock(f); err != nil {
		return err
	}
	if a.blobs, err = blobs.Open(filepath.Join(a.o.Dir, "blobs"), a.o.Blobs); err != nil {
		return err
	}
	if a.codec, err = compress.New(wire.MaxMessage); err != nil {
		return err
	}
	if a.out, err = openOutbox(filepath.Join(a.o.Dir, "spool"), a.o.ID, a.o.Bus, a.log, a.o.Times); err != nil {
		return err
	}
	if err := a.reap(); err != nil {
		return errors.Join(err, a.out.close())
	}
	if err := a.introduce(); err != nil {
		return errors.Join(err, a.out.close())
	}
	a.watch = hoststat.New(a.o.Dir)
	a.host = a.watch.Host()
	return errors.Join(a.work(ctx), a.out.close())
}

// work runs the parts of the agent concurrently until ctx ends or one of them fails. It then
// ends the run, waits for all parts, and sends deliveries for Times.Stop at most. It returns
// the first failure, or at the end of ctx nil (ctx's cause if it was cancelled with one). Call
// introduce before.
func (a *Agent) work(ctx context.Context) error {
	sending, stopSending := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSending()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	a.ctx = ctx
	var sender, parts sync.WaitGroup
	sender.Go(func() { a.out.send(sending) })
	for what, part := range map[string]func() error{
		"take commands": func() error { return a.o.Bus.Commands(ctx, a.do) },
		"receive commits": func() error {
			return a.o.Bus.Committed(sending, a.out.committed)
		},
		"serve profiles": func() error { return a.o.Bus.Serve(ctx, a.openBlob) },
		"beat":           func() error { a.beats(ctx); return nil },
		"look":           func() error { a.looks(ctx); return nil },
	} {
		wait := &parts
		if what == "receive commits" { // until the last delivery is sent
			wait = &sender
		}
		wait.Go(func() {
			if err := part(); err != nil && ctx.Err() == nil {
				stop(fmt.Errorf("%s: %w", what, err))
			}
		})
	}
	<-ctx.Done()
	a.end()
	parts.Wait()
	for end := time.Now().Add(a.o.Times.Stop); !a.out.sent() && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	stopSending()
	sender.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// end cancels the current run, if any, and waits without limit until it is over. The context
// a.ctx must have ended, so that no further run begins.
func (a *Agent) end() {
	if r := a.current(); r != nil {
		r.cancel(CauseCancelled)
		<-r.over
	}
}

// current returns the run that is here, which may be over, or nil.
func (a *Agent) current() *agentRun {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.run
}

// introduce sets the hello that the agent's beats contain. To find out how executors are
// isolated here, it creates a sandbox and removes it, and returns an error if that fails.
// It deletes run.json: reap must come before.
func (a *Agent) introduce() error {
	h := &agentpb.Hello{}
	if a.o.Hello != nil {
		h = proto.CloneOf(a.o.Hello)
	}
	hoststat.Hello(h)
	h.Protocol, h.Minor, h.Version, h.OpenFiles = agentpb.Protocol, agentpb.Minor, version.Version, sandbox.OpenFiles()
	box := a.confinement("") // the record is optional here: on a full disk an agent still starts
	note := box.Note
	box.Note = func(s sandbox.State) error { _ = note(s); return nil }
	level, err := sandbox.Level(box)
	if err != nil {
		return fmt.Errorf("try how executors are run here: %w", err)
	}
	a.dropRecord()
	h.Isolation = uint32(level)
	a.hello = h
	return nil
}

// confinement returns the options of a run's sandbox. The sandbox is recorded in run.json
// before it is created; if that fails, it is not created.
func (a *Agent) confinement(run string) sandbox.Options {
	return sandbox.Options{Work: a.o.Work, Memory: a.o.Memory, Same: a.o.Same, Note: func(box sandbox.State) error {
		return a.writeRecord(record{Run: run, Box: box, Processes: []recordProcess{}})
	}}
}

// lock locks f for one agent until f is closed, and writes this process's id to it, for the
// error text of others. It returns an error at once if another agent, also of this process,
// has locked it, or if its file system has no locks.
func lock(f *os.File) error {
	ok, err := filelock.Try(f)
	if err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	if !ok {
		who, _ := os.ReadFile(f.Name())
		return fmt.Errorf("another agent (process %s) uses %s: stop it, or use another folder with --dir",
			strings.TrimSpace(string(who)), filepath.Dir(f.Name()))
	}
	if err := f.Truncate(0); err == nil {
		_, _ = fmt.Fprintln(f, os.Getpid())
	}
	return nil
}
