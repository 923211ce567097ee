package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/gobench-io/gobench/internal/agent/budget"
	"github.com/gobench-io/gobench/internal/agent/sandbox"
	"github.com/gobench-io/gobench/internal/process"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// maxProcesses is the most executor processes that one Prepare may ask for.
const maxProcesses = 64

// prepare fetches an executor and its files, starts processes of it, and returns their hellos
// in order of their numbers, which count from p.First. It blocks until all have sent them. On
// an error, all of these processes have ended; a run that this call created is over then, one
// of an older epoch remains. The caller must hold turn. The error is a *refusal if the command
// is wrong or the agent is busy, and process.ErrCancelled if the run was cancelled.
func (a *Agent) prepare(c *agentpb.Command, p *agentpb.Prepare) ([]*wire.Hello, error) {
	switch {
	case c.Run == "" || strings.ContainsAny(c.Run, "/\\\x00") || !filepath.IsLocal(c.Run):
		return nil, refuse(codeUnknown, "%.80q is not a run's id", c.Run)
	case p.Executor == nil:
		return nil, refuse(codeUnknown, "the command names no executor")
	case p.Os != "" && p.Os != runtime.GOOS, p.Arch != "" && p.Arch != runtime.GOARCH:
		return nil, refuse(codePlatform, "the executor is built for %s/%s, agent %s is %s/%s", p.Os, p.Arch, a.o.ID, runtime.GOOS, runtime.GOARCH)
	case p.Processes > maxProcesses:
		return nil, refuse(codeUnknown, "%d processes are asked for, %d are the most", p.Processes, maxProcesses)
	}
	r, fresh, err := a.claim(c, p)
	if err != nil {
		return nil, err
	}
	hellos, err := a.prepareFor(r, c, p)
	if err == nil {
		r.mu.Lock()
		if r.phase == phasePreparing {
			r.phase = phasePrepared
		}
		r.mu.Unlock()
		r.drop()
		return hellos, nil
	}
	r.mu.Lock()
	cancelled := r.why != ""
	r.mu.Unlock()
	if cancelled && errors.Is(err, context.Canceled) {
		err = process.ErrCancelled
	}
	r.drop()
	if fresh {
		<-r.over // before the error is returned, so that nothing is left then
	}
	return nil, err
}

// claim returns the run that a Prepare is for, held (the caller must drop it), and whether it
// was created now. If the same run is being cleaned up, it waits for that. It returns a
// *refusal if the epoch is old or was used here before (codeFenced), if another run is here or
// has this epoch already (codeBusy), or if the agent is stopping.
func (a *Agent) claim(c *agentpb.Command, p *agentpb.Prepare) (r *agentRun, fresh bool, err error) {
	for {
		a.mu.Lock()
		if err := a.fence(c); err != nil {
			a.mu.Unlock()
			return nil, false, err
		}
		old := a.run
		if old != nil && old.isOver() {
			a.forget(old, 0)
			old = nil
		}
		if old == nil {
			if a.ctx.Err() != nil {
				a.mu.Unlock()
				return nil, false, refuse(codeUnknown, "agent %s is stopping", a.o.ID)
			}
			if used := a.used[c.Run]; c.Epoch <= used && used > 0 { // else new batches would have the keys of old ones
				a.mu.Unlock()
				return nil, false, refuse(codeFenced, "executors of run %s were started in epoch %d here: prepare it with a newer one", c.Run, used)
			}
			a.run = newRun(a, c.Run, c.Epoch, p)
			r = a.run
			a.mu.Unlock()
			return r, true, nil
		}
		a.mu.Unlock()
		if old.id != c.Run {
			return nil, false, refuse(codeBusy, "agent %s is busy with run %s", a.o.ID, old.id)
		}
		if old.has(c.Epoch) {
			return nil, false, refuse(codeBusy, "run %s is prepared on agent %s already, in epoch %d", c.Run, a.o.ID, c.Epoch)
		}
		if old.hold() {
			old.touch(c.Epoch)
			return old, false, nil
		}
		<-old.over // it is being cleaned up
	}
}

// started returns the newest epoch in which processes were started, or 0.
func (r *agentRun) started() (epoch uint64) {
	for _, e := range r.allExecutors() {
		epoch = max(epoch, e.queue.epoch)
	}
	return epoch
}

// has reports whether processes of an epoch were started, even if they have ended.
func (r *agentRun) has(epoch uint64) bool {
	for _, e := range r.allExecutors() {
		if e.queue.epoch == epoch {
			return true
		}
	}
	return false
}

// prepareFor does prepare's work, from the fetch to the hellos, for a run that is held. On an
// error, the processes that it started have ended; the sandbox and the files in it remain
// until the run is over.
func (a *Agent) prepareFor(r *agentRun, c *agentpb.Command, p *agentpb.Prepare) ([]*wire.Hello, error) {
	executable, err := a.fetch(r.fetching, p.Executor)
	if err != nil {
		return nil, err
	}
	defer executable.Close()
	if r.box == nil {
		if r.box, err = sandbox.New(a.confinement(c.Run)); err != nil {
			return nil, err
		}
	}
	ledgers, err := a.openLedgers(r.box)
	if err != nil {
		return nil, err
	}
	for _, blob := range p.Files {
		if err := a.place(r, blob); err != nil {
			return nil, err
		}
	}
	q, err := a.out.open(c.Run, c.Epoch)
	if err != nil {
		return nil, fmt.Errorf("create a spool for deliveries: %w", err)
	}
	r.mu.Lock()
	r.queues = append(r.queues, q)
	r.mu.Unlock()
	if err := a.saveRecord(r); err != nil {
		return nil, err
	}
	var executors []*executor
	for n := range processCount(p, sandbox.OpenFiles()) {
		executors = append(executors, r.launch(q, p.First+uint32(n), executable, p, ledgers))
	}
	hellos := make([]*wire.Hello, len(executors))
	err = together(executors, func(e *executor) (err error) {
		hellos[e.number-executors[0].number], err = e.process.Hello(r.fetching)
		return err
	})
	_ = a.saveRecord(r) // with their process ids; if that fails, the sandbox alone identifies them
	if err != nil {
		for _, e := range executors {
			e.process.Cancel()
		}
		for _, e := range executors {
			<-e.over
		}
		return nil, err
	}
	for _, h := range hellos[1:] {
		h.Metrics = nil // the same for all of them
	}
	return hellos, nil
}

// processCount returns how many processes a Prepare asks for, which is not checked. If it
// leaves that to the agent, they are as many as can open 1.1 files for each user and 100 more
// in all: 1 to maxProcesses. files is the limit of one process; 0 means unknown, and the
// result is 1.
func processCount(p *agentpb.Prepare, files uint64) int {
	if p.Processes > 0 {
		return int(p.Processes)
	}
	if p.Users <= 0 || files == 0 {
		return 1
	}
	return int(min(max(math.Ceil((float64(p.Users)*1.1+100)/float64(files)), 1), maxProcesses))
}

// launch starts a process of an executable, adds it to the run, which it holds until the
// process has ended, and returns at once. If the process cannot be started, its Hello returns
// why. The caller must hold the run, which must have its box, and keep the executable open
// until the process has sent its hello or has ended.
func (r *agentRun) launch(q *queue, number uint32, executable *os.File, prepare *agentpb.Prepare, ledgers []string) *executor {
	e := &executor{run: r, number: number, queue: q, thinner: budget.New(r.agent.codec), over: make(chan struct{})}
	e.output = newOutput(r.quota, r.agent.o.Times.Output, e.printed)
	e.process = process.New(process.Spec{
		Make:    func(env []string) (*exec.Cmd, error) { return r.box.Command(executable, r.box.Environ(env)) },
		Env:     append(slices.Clone(prepare.Env), ledgers...),
		Socket:  filepath.Join(r.box.Folder, fmt.Sprintf("s%d-%d", q.epoch, number)),
		Owner:   r.box.UID,
		In:      prepare.In,
		Log:     e.output,
		Started: e.started, Stopping: e.stopping, Seen: e.saw, Batch: e.sent,
		Times: r.agent.o.Times.Process,
	})
	r.mu.Lock()
	r.executors = append(r.executors, e)
	r.holders++ // by the process, until live returns
	cancelled := r.why != ""
	r.mu.Unlock()
	if cancelled {
		e.process.Cancel()
	}
	go e.live(r.ctx)
	return e
}

// fetch returns a blob, from the cache or fetched, whose digest has been checked. The
// caller must close it. The error wraps blobs.ErrDigest or blobs.ErrSpace if one of them is
// the reason.
func (a *Agent) fetch(ctx context.Context, b *agentpb.Blob) (*os.File, error) {
	return a.blobs.Get(ctx, b.Sha256, b.Size, func(ctx context.Context, offset int64, w io.Writer) error {
		return a.o.Bus.Fetch(ctx, b, offset, w)
	})
}

// place copies the blob b, which it fetches if needed, to b.Name in the working folder of the
// run's processes, for the run's user. It creates folders as needed and replaces a file of
// that name. It returns a *refusal if the name is outside of that folder. After another error
// a part of the file may be left. r.box must be set.
func (a *Agent) place(r *agentRun, b *agentpb.Blob) error {
	name := filepath.FromSlash(b.Name)
	if !filepath.IsLocal(name) || name == "." {
		return refuse(codeUnknown, "%.80q is not a name for a file of a scenario", b.Name)
	}
	from, err := a.fetch(r.fetching, b)
	if err != nil {
		return err
	}
	defer from.Close()
	root, err := os.OpenRoot(r.box.Home()) // executors of an older epoch may have put links there
	if err != nil {
		return err
	}
	defer root.Close()
	at := ""
	for _, part := range strings.Split(filepath.Dir(name), string(filepath.Separator)) {
		if at = filepath.Join(at, part); at == "." {
			continue
		}
		if err := root.Mkdir(at, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		if err := r.chown(root, at); err != nil {
			return err
		}
	}
	_ = root.Remove(name) // of an older epoch
	mode := os.FileMode(0o600)
	if b.Executable {
		mode = 0o700
	}
	to, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err != nil {
		return fmt.Errorf("copy the scenario's file %s: %w", b.Name, err)
	}
	return r.chown(root, name)
}

// chown makes the run's user, if it has one of its own, the owner of the file name below
// root. It follows no link.
func (r *agentRun) chown(root *os.Root, name string) error {
	if r.box.UID == 0 {
		return nil
	}
	return root.Lchown(name, r.box.UID, r.box.UID)
}
