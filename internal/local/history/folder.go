package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// Folder is the folder of a run that this process makes. It is for one goroutine at
// a time, but for Log.
type Folder struct {
	dir     string
	batches *os.File
	Log     *Log // what the executor prints
}

// Create makes the folder of run id. Nobody but this user can read it.
func (h History) Create(id string) (_ *Folder, err error) {
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return nil, err
	}
	f := &Folder{dir: h.Dir(id)}
	if err := os.Mkdir(f.dir, 0o700); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(f.dir) // half a folder is no run
		}
	}()
	if err := os.WriteFile(filepath.Join(f.dir, ownerFile), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return nil, err
	}
	if f.batches, err = os.OpenFile(filepath.Join(f.dir, batchesFile), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600); err != nil {
		return nil, err
	}
	if _, err := f.batches.WriteString(wire.RecordsHead); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(f.dir, logFile), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	f.Log = &Log{file: log, rest: maxLog}
	return f, nil
}

// Dir returns the path of the folder.
func (f *Folder) Dir() string { return f.dir }

// Append adds a batch of an executor to the folder.
func (f *Folder) Append(executor int, b *wire.Batch) error {
	record, err := wire.AppendRecord(nil, executor, b)
	if err != nil {
		return err
	}
	_, err = f.batches.Write(record)
	return err
}

// Put writes the result as it now stands, whole or not at all.
func (f *Folder) Put(r *run.Result) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if r.State.Final() {
		if err := f.batches.Sync(); err != nil {
			return err
		}
	}
	tmp := filepath.Join(f.dir, resultFile+".new")
	if err := writeSynced(tmp, append(b, '\n')); err != nil {
		_ = os.Remove(tmp) // half of it helps nobody
		return err
	}
	return os.Rename(tmp, filepath.Join(f.dir, resultFile))
}

func writeSynced(path string, b []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(b)
	return errors.Join(err, file.Sync(), file.Close())
}

// Close gives the folder up.
func (f *Folder) Close() error {
	return errors.Join(f.batches.Close(), f.Log.Close(), os.Remove(filepath.Join(f.dir, ownerFile)))
}

// Discard gives the folder up and deletes it: nothing has run.
func (f *Folder) Discard() error { return errors.Join(f.Close(), os.RemoveAll(f.dir)) }

// Batches calls each with every batch of run id, in the order they came. A file
// that ends within a record, as after a crash, ends there without an error.
func (h History) Batches(id string, each func(executor int, b *wire.Batch) error) error {
	file, err := os.Open(filepath.Join(h.Dir(id), batchesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %q has no batches", run.ErrNotFound, id)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 64<<10)
	if err := wire.ReadRecordsHead(in); err != nil {
		return fmt.Errorf("%s: %w", file.Name(), err)
	}
	for {
		executor, b, err := wire.ReadRecord(in)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", file.Name(), err)
		}
		if err := each(executor, b); err != nil {
			return err
		}
	}
}
