// Package history stores every run as a folder: result.json, the options and figures;
// batches, the executors' batches in their order, from which the series and the totals can be
// computed again; executor.log, what the executor printed; and, while the run is active, owner,
// the process that runs it.
//
// docs/formats/run.md describes the files. Only the process that creates a folder writes
// it; others may read it at any time.
package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/filelock"
	"github.com/gobench-io/gobench/internal/run/system"
)

const (
	resultFile  = "result.json"
	batchesFile = "batches"
	logFile     = "executor.log"
	reserveFile = "reserve" // space for the final result
	ownerFile   = "owner"   // the pid of the process that runs the run, until it is over; then locked, if that process has it locked

	locked = "locked"
)

// History is the folder of all runs. Its methods may be used by any goroutine.
type History struct{ dir string }

// Open returns the history in dir, which is created by the first Create or Import.
func Open(dir string) History { return History{dir} }

// Dir returns the path of the folder of run id.
func (h History) Dir(id string) string { return filepath.Join(h.dir, id) }

// File returns the path of the result of run id.
func (h History) File(id string) string { return filepath.Join(h.dir, id, resultFile) }

// Load reads the result of run id. If the run's process has ended without a final result, the
// returned result is Failed, with the cause; the stored one stays as it is. The error wraps
// run.ErrNotFound if there is no such run or its id is not valid. A result of another format
// is an error.
func (h History) Load(id string) (*run.Result, error) {
	if !run.ValidID(id) {
		return nil, fmt.Errorf("%w: %q", run.ErrNotFound, id)
	}
	b, err := os.ReadFile(filepath.Join(h.Dir(id), resultFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %q", run.ErrNotFound, id)
	}
	if err != nil {
		return nil, err
	}
	r := new(run.Result)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(h.Dir(id), resultFile), err)
	}
	if err := r.Accept(); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(h.Dir(id), resultFile), err)
	}
	if !r.State.Final() && !h.owned(id) {
		r.State, r.Cause = run.Failed, "gobench ended before the run did"
		r.Missing = append(r.Missing, "what was not yet written when gobench ended")
	}
	return r, nil
}

// owned reports whether the process that runs run id is alive; false if the run is over. That
// process has the owner's file locked, as its pid says little in another container or after
// a restart. A process that could not lock it, and any older gobench, is alive if its pid is.
func (h History) owned(id string) bool {
	f, err := os.Open(filepath.Join(h.Dir(id), ownerFile))
	if err != nil {
		return false
	}
	defer f.Close()
	var pid int
	var how string
	if n, _ := fmt.Fscanln(f, &pid, &how); n == 0 || pid <= 0 {
		return false
	}
	if how == locked {
		held, err := filelock.Held(f)
		return held || err != nil
	}
	return system.Alive(pid)
}

// List returns the ids of all runs, the oldest first; nil if there is no folder yet. A run's
// result need not be readable.
func (h History) List() ([]string, error) {
	entries, err := os.ReadDir(h.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() && run.ValidID(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// Find returns the id of the run whose id begins with part, or whose last group does; part has
// 3 characters at least, unless it is a whole id. "last" is the newest run. The error wraps
// run.ErrNotFound if no run matches, and lists the runs if several do.
func (h History) Find(part string) (string, error) {
	ids, err := h.List()
	if err != nil {
		return "", err
	}
	if part == "last" && len(ids) > 0 {
		return ids[len(ids)-1], nil
	}
	var found []string
	for _, id := range ids {
		if id == part {
			return id, nil
		}
		if len(part) >= 3 && (strings.HasPrefix(id, part) || strings.HasPrefix(id[strings.LastIndexByte(id, '-')+1:], part)) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("%w: %q", run.ErrNotFound, part)
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%q fits %d runs: %v", part, len(found), found)
}

// Remove deletes the folder of run id, also one whose result can't be read. It returns an error
// if the run is active. That there is no such run is not an error, but an invalid id is: it
// wraps run.ErrNotFound.
func (h History) Remove(id string) error {
	if !run.ValidID(id) {
		return fmt.Errorf("%w: %q", run.ErrNotFound, id)
	}
	if r, err := h.Load(id); err == nil && !r.State.Final() {
		return fmt.Errorf("run %s is %s: stop it first", id, r.State)
	}
	return os.RemoveAll(h.Dir(id))
}

// Size returns the size of the files of run id in bytes, without those that can't be read; 0
// if there is no such run.
func (h History) Size(id string) (n int64) {
	_ = filepath.WalkDir(h.Dir(id), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// created returns the time that is part of a valid id, in UTC, to the second. It panics if id
// is shorter than that.
func created(id string) time.Time {
	t, _ := time.Parse("20060102-150405", id[:15])
	return t
}
