package master

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// logs are what executors printed: a file for each in a folder for each run. What an
// agent sends twice is written once, by its offset.
type logs struct {
	dir string

	mu      sync.Mutex
	changed chan struct{} // closed when something was written, and replaced
}

func newLogs(dir string) (*logs, error) {
	dir, err := private(dir)
	return &logs{dir: dir, changed: make(chan struct{})}, err
}

// write keeps a piece of output. A file that can't be written loses it: load goes on.
func (l *logs) write(id, agent string, executor int, piece *agentpb.Log) {
	if !run.ValidID(id) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	dir := filepath.Join(l.dir, id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return
	}
	if writePiece(filepath.Join(dir, logName(agent, executor)), piece) != nil {
		return
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// copy keeps the output of all executors of a run that is imported.
func (l *logs) copy(id string, from io.Reader) error {
	dir := filepath.Join(l.dir, id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, logName(imported, 0)), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

// logName is the file of an executor's output. Agents' ids are the master's own.
func logName(agent string, executor int) string { return fmt.Sprintf("%s-%03d.log", agent, executor) }

// remove deletes what a run printed.
func (l *logs) remove(id string) error {
	if !run.ValidID(id) {
		return nil
	}
	return os.RemoveAll(filepath.Join(l.dir, id))
}

// Log opens what the executors of a run printed, one after the other, or only those of
// an agent. An offset is of one executor's output, where there is only one. With follow
// it goes on as it comes, until the run is over.
func (m *Master) Log(ctx context.Context, id, agent string, offset int64, follow bool) (io.ReadCloser, error) {
	if _, err := m.Run(ctx, id); err != nil {
		return nil, err
	}
	r := &logReader{m: m, id: id, agent: agent, follow: follow, at: map[string]int64{}, skip: offset}
	r.ctx, r.cancel = context.WithCancel(ctx)
	return r, nil
}

// logReader reads the files of a run, those with something new first.
type logReader struct {
	m      *Master
	ctx    context.Context
	cancel func()
	id     string
	agent  string
	follow bool
	skip   int64
	at     map[string]int64 // how far each file was read
	last   string           // that was read last
	begun  bool
}

func (r *logReader) Close() error { r.cancel(); return nil }

func (r *logReader) Read(b []byte) (int, error) {
	for {
		l := r.m.logs
		l.mu.Lock()
		changed := l.changed
		l.mu.Unlock()
		o, err := r.m.Run(r.ctx, r.id)
		if err != nil {
			return 0, err
		}
		if n, err := r.some(b); n > 0 || err != nil {
			return n, err
		}
		if !r.follow || o.State.Final() && !r.m.atWork(r.id) {
			return 0, io.EOF
		}
		select {
		case <-changed:
		case <-time.After(time.Second): // the run's end writes nothing
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		}
	}
}

// some reads from the first file that has more.
func (r *logReader) some(b []byte) (int, error) {
	entries, err := os.ReadDir(filepath.Join(r.m.logs.dir, r.id))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".log") && (r.agent == "" || strings.HasPrefix(e.Name(), r.agent+"-")) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	if len(names) == 1 && !r.begun {
		r.at[names[0]] = r.skip
	}
	r.begun = r.begun || len(names) > 0
	for _, name := range names {
		f, err := os.Open(filepath.Join(r.m.logs.dir, r.id, name))
		if err != nil {
			return 0, err
		}
		head := ""
		if len(names) > 1 && r.last != name {
			head = "==> " + strings.TrimSuffix(name, ".log") + " <==\n"
		}
		if len(b) <= len(head) {
			f.Close()
			return 0, io.ErrShortBuffer
		}
		n, err := f.ReadAt(b[len(head):], r.at[name])
		f.Close()
		if n > 0 {
			copy(b, head)
			r.at[name] += int64(n)
			r.last = name
			return len(head) + n, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
	}
	return 0, nil
}
