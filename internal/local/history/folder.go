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
	"github.com/gobench-io/gobench/internal/run/filelock"
	"github.com/gobench-io/gobench/internal/run/system"
	"github.com/gobench-io/gobench/internal/wire"
)

// Folder is the folder of a run of this process. Except for Log, it must not be used by
// several goroutines at once. The caller must Close or Discard it, once: until then other
// processes take the run for an active one.
type Folder struct {
	dir     string
	owner   *os.File // locked until Close
	batches *os.File
	pending []byte // records that could not be written yet
	gap     error  // why batches were dropped after pending; nil: all are stored
	Log     *Log   // for what the executor prints
}

const (
	maxPending = 64 << 20 // bytes of records that wait for space on the disk
	reserved   = 64 << 10 // bytes that are free for the final result on a full disk
)

// Create creates the folder of run id, which must be valid; only this user can read it. The
// caller must Close or Discard it. The run can be loaded after the first Put. The error wraps
// fs.ErrExist if there is such a folder. After an error no new folder is left.
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
			if f.owner != nil {
				_ = f.owner.Close()
			}
			if f.batches != nil {
				_ = f.batches.Close()
			}
			_ = os.RemoveAll(f.dir) // the first error is the one to report
		}
	}()
	if f.owner, err = own(filepath.Join(f.dir, ownerFile)); err != nil {
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
	f.Log = &Log{file: log, left: maxLog}
	if os.WriteFile(filepath.Join(f.dir, reserveFile), make([]byte, reserved), 0o600) != nil {
		f.free() // the run has the little that there is
	}
	return f, nil
}

// Dir returns the path of the folder.
func (f *Folder) Dir() string { return f.dir }

// Append writes a batch of an executor to the folder, and before it those that earlier calls
// could not write, as on a full disk. It is synced by the Put of a final result. After an
// error the next Append or Flush tries again; what is more than maxPending then is dropped.
func (f *Folder) Append(executor int, b *wire.Batch) error {
	if f.gap == nil && len(f.pending) > maxPending {
		f.gap = fmt.Errorf("more than %d MiB of batches wait to be written", maxPending>>20)
	}
	if f.gap == nil { // batches after a gap are not valid
		f.pending, f.gap = wire.AppendRecord(f.pending, executor, b)
	}
	return f.Flush()
}

// Flush writes the batches that Append could not write. It returns an error if some are still
// not written, which may leave a part of a record, or were dropped.
func (f *Folder) Flush() error {
	n, err := f.batches.Write(f.pending)
	f.pending = f.pending[:copy(f.pending, f.pending[n:])]
	return errors.Join(err, f.gap)
}

// Put replaces the stored result by r, atomically, and syncs it; if that is final, also the
// batches, and the space reserved for it is freed first. If it returns an error, the previous
// result is unchanged. It does not retain r.
func (f *Folder) Put(r *run.Result) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if r.State.Final() {
		f.free()
		if err := f.batches.Sync(); err != nil {
			return err
		}
	}
	return system.ReplaceBytes(filepath.Join(f.dir, resultFile), append(b, '\n'))
}

// free frees the space that Create reserved, if that was possible.
func (f *Folder) free() { _ = os.Remove(filepath.Join(f.dir, reserveFile)) }

// Close closes the folder and Log. For other processes the run is over from then on: without a
// final result it is Failed.
func (f *Folder) Close() error {
	f.free()
	return errors.Join(f.batches.Close(), f.Log.Close(), os.Remove(filepath.Join(f.dir, ownerFile)), f.owner.Close())
}

// own creates the owner's file of a run and returns it locked; where files can't be locked,
// as on some network drives, not locked, which the file says. The caller must close it.
func own(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	text := strconv.Itoa(os.Getpid())
	if ok, err := filelock.Try(f); ok && err == nil {
		text += " " + locked
	}
	if _, err := f.WriteString(text + "\n"); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Discard closes and deletes the folder, for a run that has not taken place.
func (f *Folder) Discard() error { return errors.Join(f.Close(), os.RemoveAll(f.dir)) }

// Batches calls each with every batch of run id, a valid id, in the order of Append. An error
// of each ends it and is returned. If the file ends within a record, as after a crash, the
// record is ignored; a damaged one is an error that wraps wire.ErrRecord. The error wraps
// run.ErrNotFound if the run has no batches.
func (h History) Batches(id string, each func(executor int, b *wire.Batch) error) error {
	file, err := os.Open(filepath.Join(h.Dir(id), batchesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %q has no batches", run.ErrNotFound, id)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	records, err := wire.OpenRecords(bufio.NewReaderSize(file, 64<<10))
	if err != nil {
		return fmt.Errorf("%s: %w", file.Name(), err)
	}
	for {
		executor, b, err := records.Next()
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
