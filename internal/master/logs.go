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

// logs stores the output of executors: a folder for each run with a file for each executor.
// A piece that an agent sends twice is stored once. Its methods may be called concurrently,
// but copy not for the same run.
type logs struct {
	dir string

	mu      sync.Mutex
	changed chan struct{} // closed and replaced after each write
}

// newLogs returns the logs in dir, which it creates if it does not exist.
func newLogs(dir string) (*logs, error) {
	dir, err := private(dir)
	return &logs{dir: dir, changed: make(chan struct{})}, err
}

// write stores a piece of an executor's output and wakes its readers. If that fails, or id
// is not the id of a run, the piece is lost without a message and the run continues.
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

// copy stores the output of an imported run, and replaces what is there. After an error a
// part of it may be stored.
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

// logName returns the name of the file of an executor's output. It is safe, as the master
// chooses the ids of agents.
func logName(agent string, executor int) string { return fmt.Sprintf("%s-%03d.log", agent, executor) }

// remove deletes the output of a run. It returns nil if there is no output, or id is not the
// id of a run.
func (l *logs) remove(id string) error {
	if !run.ValidID(id) {
		return nil
	}
	return os.RemoveAll(filepath.Join(l.dir, id))
}

// Log returns the output of a run's executors, one after the other in the order of agent ids
// and executor numbers, or only that of the agent with this id. If there is one file,
// reading begins at offset, in bytes; otherwise offset is ignored and a line "==>
// AGENT-NUMBER <==" precedes each part. With follow, Read waits for new output until the run
// is over; otherwise it returns io.EOF at the end of what is stored. Read needs a buffer
// longer than such a line, and fails once ctx has ended. The caller must Close the reader.
func (m *Master) Log(ctx context.Context, id, agent string, offset int64, follow bool) (io.ReadCloser, error) {
	if _, err := m.Run(ctx, id); err != nil {
		return nil, err
	}
	r := &logReader{m: m, id: id, agent: agent, follow: follow, at: map[string]int64{}, skip: offset}
	r.ctx, r.cancel = context.WithCancel(ctx)
	return r, nil
}

// logReader reads the log files of a run. It is not safe for concurrent use, except that
// Close may be called at any time and ends a Read that waits.
type logReader struct {
	m      *Master
	ctx    context.Context
	cancel func()
	id     string
	agent  string
	follow bool
	skip   int64
	at     map[string]int64 // offset of the next read, by file
	last   string           // the file that was read last
	begun  bool
}

func (r *logReader) Close() error { r.cancel(); return nil }

// Read returns what some does, with follow once there is output, and io.EOF at the end. It
// fails once the context has ended or the run is deleted.
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
		case <-time.After(time.Second): // the end of the run closes no channel
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		}
	}
}

// some reads from the first file that has unread output, and returns 0 and nil if there is
// no unread output. The error is io.ErrShortBuffer if b has no room for a heading.
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
