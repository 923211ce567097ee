package master

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
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

// write stores a piece of an executor's output and wakes its readers. If it returns an error,
// as for an id that is not that of a run, the piece is lost. agent must be an id that the
// master has chosen.
func (l *logs) write(id, agent string, executor int, piece *agentpb.Log) error {
	if !run.ValidID(id) {
		return fmt.Errorf("%w: %q", run.ErrNotFound, id)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	dir := filepath.Join(l.dir, id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := writePiece(filepath.Join(dir, logName(agent, executor)), piece); err != nil {
		return err
	}
	close(l.changed)
	l.changed = make(chan struct{})
	return nil
}

// copy stores from, the log of an archive (one text of all executors, with lines "==> EXECUTOR
// <==" if there are several), as the output of a single executor of agent "imported". It
// replaces only that executor's file. id names a folder and is not checked. After an error a
// part may be stored. It does not close from.
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

// runs returns the ids of the runs with output.
func (l *logs) runs() ([]string, error) {
	entries, err := os.ReadDir(l.dir)
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.Name())
	}
	return ids, err
}

// remove deletes the output of a run. It returns nil if there is no output, or id is not the
// id of a run.
func (l *logs) remove(id string) error {
	if !run.ValidID(id) {
		return nil
	}
	return os.RemoveAll(filepath.Join(l.dir, id))
}

// Log calls each with the output of a run's executors, sorted by name, or only of one agent's,
// in pieces of up to 32 KiB: of each executor from q.After on, or with a single executor and no
// After from q.Offset. With Follow it continues with new output until the run is over, or ctx
// ends: it returns ctx's error then. A piece is valid only until each returns. An error of each
// ends it and is returned.
func (m *Master) Log(ctx context.Context, q run.LogQuery, each func(*run.LogPiece) error) error {
	r := &logReader{dir: filepath.Join(m.logs.dir, q.Run), agent: q.Agent, skip: q.Offset, at: maps.Clone(q.After)}
	if r.at == nil {
		r.at = map[string]int64{}
	}
	for {
		m.logs.mu.Lock()
		changed := m.logs.changed
		m.logs.mu.Unlock()
		o, err := m.Run(ctx, q.Run)
		if err != nil {
			return err
		}
		over := !q.Follow || o.State.Final() && !m.atWork(q.Run)
		for {
			p, err := r.next()
			if err == nil && p != nil {
				err = each(p)
			}
			if err != nil {
				return err
			}
			if p == nil {
				break
			}
		}
		if over {
			return nil
		}
		select {
		case <-changed:
		case <-time.After(time.Second): // the end of the run closes no channel
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// logReader reads the log files of a run. at must not be nil; dir and agent are not checked.
type logReader struct {
	dir   string
	agent string
	skip  int64            // of the only file
	at    map[string]int64 // offset of the next read, by executor
	begun bool
	buf   [32 << 10]byte
}

// next returns a piece, of up to 32 KiB, of the first file by name that has unread output, or
// nil without one. skip applies only if at is empty, and there is a single file, at the first
// call that finds any. The piece is valid until the next call.
func (r *logReader) next() (*run.LogPiece, error) {
	entries, err := os.ReadDir(r.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".log")
		if ok && (r.agent == "" || strings.HasPrefix(name, r.agent+"-")) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) == 1 && !r.begun && len(r.at) == 0 {
		r.at[names[0]] = r.skip
	}
	r.begun = r.begun || len(names) > 0
	for _, name := range names {
		f, err := os.Open(filepath.Join(r.dir, name+".log"))
		if err != nil {
			return nil, err
		}
		n, err := f.ReadAt(r.buf[:], r.at[name])
		f.Close()
		if n > 0 {
			r.at[name] += int64(n)
			return &run.LogPiece{Executor: name, Next: r.at[name], Several: len(names) > 1, Data: r.buf[:n]}, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	return nil, nil
}
