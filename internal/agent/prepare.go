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
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// maxProcesses is how many executor processes an agent starts at most at once.
const maxProcesses = 64

// prepare fetches an executor and its files, starts processes of it, and gives their
// hellos. When one of them fails, none of them is left.
func (a *Agent) prepare(c *agentpb.Command, p *agentpb.Prepare) ([]*wire.Hello, error) {
	switch {
	case c.Run == "" || strings.ContainsAny(c.Run, "/\\\x00") || !filepath.IsLocal(c.Run):
		return nil, refuse(codeUnknown, "%.80q is no run's id", c.Run)
	case p.Executor == nil:
		return nil, refuse(codeUnknown, "the command names no executor")
	case p.Os != "" && p.Os != runtime.GOOS, p.Arch != "" && p.Arch != runtime.GOARCH:
		return nil, refuse(codePlatform, "the executor is built for %s/%s, agent %s is %s/%s", p.Os, p.Arch, a.o.ID, runtime.GOOS, runtime.GOARCH)
	case p.Processes > maxProcesses:
		return nil, refuse(codeUnknown, "%d processes are asked for, %d are the most", p.Processes, maxProcesses)
	}
	j, fresh, err := a.claim(c, p)
	if err != nil {
		return nil, err
	}
	hellos, err := a.prepareFor(j, c, p)
	if err == nil {
		j.mu.Lock()
		if j.phase == phasePreparing {
			j.phase = phasePrepared
		}
		j.mu.Unlock()
		j.drop()
		return hellos, nil
	}
	j.mu.Lock()
	cancelled := j.why != ""
	j.mu.Unlock()
	if cancelled && errors.Is(err, context.Canceled) {
		err = ErrCancelled
	}
	j.drop()
	if fresh {
		<-j.over // nothing is left when the answer comes
	}
	return nil, err
}

// claim gives the job that a Prepare is for, held: a fresh one, or that of the same run.
func (a *Agent) claim(c *agentpb.Command, p *agentpb.Prepare) (j *job, fresh bool, err error) {
	for {
		a.mu.Lock()
		if err := a.fence(c); err != nil {
			a.mu.Unlock()
			return nil, false, err
		}
		old := a.job
		if old != nil && old.isOver() {
			a.forget(old, 0)
			old = nil
		}
		if old == nil {
			if a.ctx.Err() != nil {
				a.mu.Unlock()
				return nil, false, refuse(codeUnknown, "agent %s is about to end", a.o.ID)
			}
			if used := a.used[c.Run]; c.Epoch <= used && used > 0 { // its batches would have the keys of others
				a.mu.Unlock()
				return nil, false, refuse(codeFenced, "executors of run %s were started in epoch %d here: prepare it with a newer one", c.Run, used)
			}
			a.job = newJob(a, c.Run, c.Epoch, p)
			j = a.job
			a.mu.Unlock()
			return j, true, nil
		}
		a.mu.Unlock()
		if old.run != c.Run {
			return nil, false, refuse(codeBusy, "agent %s is busy with run %s", a.o.ID, old.run)
		}
		if old.has(c.Epoch) {
			return nil, false, refuse(codeBusy, "run %s is prepared on agent %s already, in epoch %d", c.Run, a.o.ID, c.Epoch)
		}
		if old.hold() {
			old.touch(c.Epoch)
			return old, false, nil
		}
		<-old.over // it is being cleared up
	}
}

// started is the newest epoch in which processes were started; 0: none were.
func (j *job) started() (epoch uint64) {
	for _, p := range j.processes() {
		epoch = max(epoch, p.stream.epoch)
	}
	return epoch
}

// has tells whether there are processes of an epoch.
func (j *job) has(epoch uint64) bool {
	for _, p := range j.processes() {
		if p.stream.epoch == epoch {
			return true
		}
	}
	return false
}

// prepareFor does prepare's work for a job that is held.
func (a *Agent) prepareFor(j *job, c *agentpb.Command, p *agentpb.Prepare) ([]*wire.Hello, error) {
	executable, err := a.fetch(j.fetching, p.Executor)
	if err != nil {
		return nil, err
	}
	defer executable.Close()
	if j.box == nil {
		if j.box, err = sandbox.New(a.confinement(c.Run)); err != nil {
			return nil, err
		}
	}
	ledgers, err := a.openLedgers(j.box)
	if err != nil {
		return nil, err
	}
	for _, blob := range p.Files {
		if err := a.place(j, blob); err != nil {
			return nil, err
		}
	}
	s, err := a.out.open(c.Run, c.Epoch)
	if err != nil {
		return nil, fmt.Errorf("make a place for what is to be delivered: %w", err)
	}
	j.mu.Lock()
	j.streams = append(j.streams, s)
	j.mu.Unlock()
	if err := a.saveRecord(j); err != nil {
		return nil, err
	}
	var procs []*proc
	for n := range processes(p, sandbox.OpenFiles()) {
		procs = append(procs, j.launch(s, p.First+uint32(n), executable, p, ledgers))
	}
	hellos := make([]*wire.Hello, len(procs))
	err = together(procs, func(p *proc) (err error) {
		hellos[p.number-procs[0].number], err = p.executor.Hello(j.fetching)
		return err
	})
	_ = a.saveRecord(j) // now their ids are known; by its box, all of it is known without
	if err != nil {
		for _, p := range procs {
			p.executor.Cancel()
		}
		for _, p := range procs {
			<-p.over
		}
		return nil, err
	}
	return hellos, nil
}

// processes is how many executors a Prepare asks for, where one may have so many open
// files: a tenth more than it has users, and a hundred.
func processes(p *agentpb.Prepare, files uint64) int {
	if p.Processes > 0 {
		return int(p.Processes)
	}
	if p.Users <= 0 || files == 0 {
		return 1
	}
	return int(min(max(math.Ceil((float64(p.Users)*1.1+100)/float64(files)), 1), maxProcesses))
}

// launch starts a process of an executable that stays open until it has said hello, or
// has ended.
func (j *job) launch(s *stream, number uint32, executable *os.File, prepare *agentpb.Prepare, ledgers []string) *proc {
	p := &proc{job: j, number: number, stream: s, thinner: budget.New(j.agent.codec), over: make(chan struct{})}
	p.output = newOutput(j.quota, p.printed)
	p.executor = New(Spec{
		Make:   func(env []string) (*exec.Cmd, error) { return j.box.Command(executable, j.box.Environ(env)) },
		Env:    append(slices.Clone(prepare.Env), ledgers...),
		Socket: filepath.Join(j.box.Folder, fmt.Sprintf("s%d-%d", s.epoch, number)),
		Owner:  j.box.UID,
		In:     prepare.In,
		Log:    p.output,
		// The rest of its life.
		Started: p.started, Stopping: p.stopping, Seen: p.saw, Batch: p.sent,
		StartLimit: j.agent.o.StartLimit,
	})
	j.mu.Lock()
	j.procs = append(j.procs, p)
	j.holders++ // the Prepare holds it, too
	cancelled := j.why != ""
	j.mu.Unlock()
	if cancelled {
		p.executor.Cancel()
	}
	go p.live(j.ctx)
	return p
}

// fetch gives a blob, open, that has been checked.
func (a *Agent) fetch(ctx context.Context, b *agentpb.Blob) (*os.File, error) {
	return a.blobs.Get(ctx, b.Sha256, b.Size, func(ctx context.Context, offset int64, w io.Writer) error {
		return a.o.Bus.Fetch(ctx, b, offset, w)
	})
}

// place puts a file of the scenario into its working folder.
func (a *Agent) place(j *job, b *agentpb.Blob) error {
	name := filepath.FromSlash(b.Name)
	if !filepath.IsLocal(name) || name == "." {
		return refuse(codeUnknown, "%.80q is no name for a file of a scenario", b.Name)
	}
	from, err := a.fetch(j.fetching, b)
	if err != nil {
		return err
	}
	defer from.Close()
	root, err := os.OpenRoot(j.box.Home()) // what runs there already may put links in the way
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
		if err := j.give(root, at); err != nil {
			return err
		}
	}
	_ = root.Remove(name) // of an earlier epoch
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
	return j.give(root, name)
}

func (j *job) give(root *os.Root, name string) error {
	if j.box.UID == 0 {
		return nil
	}
	return root.Lchown(name, j.box.UID, j.box.UID)
}
