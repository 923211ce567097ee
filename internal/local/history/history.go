// Package history keeps every run as a folder: result.json, what was asked and
// counted; batches, the executors' batches as they came, from which the series and
// the totals can be made again; executor.log, what the executor printed.
//
// docs/formats/run.md describes the files. A folder belongs to the process that
// makes it until its result is final; others may read it at any time.
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
	"syscall"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

const (
	resultFile  = "result.json"
	batchesFile = "batches"
	logFile     = "executor.log"
	ownerFile   = "owner" // the pid of the process that makes the folder
)

// History is the folder of all runs.
type History struct{ dir string }

// Open gives the history in dir, which is made when it is first written to.
func Open(dir string) History { return History{dir} }

// Dir returns the path of the folder of run id.
func (h History) Dir(id string) string { return filepath.Join(h.dir, id) }

// File returns the path of the result of run id.
func (h History) File(id string) string { return filepath.Join(h.dir, id, resultFile) }

// Load reads the result of run id: run.ErrNotFound when there is none. A run whose
// process is gone without a final result is Failed, and its result says so.
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
	if r.Format != run.Format {
		return nil, fmt.Errorf("%s has format %q, and this gobench reads %q", filepath.Join(h.Dir(id), resultFile), r.Format, run.Format)
	}
	if !r.State.Final() && !h.owned(id) {
		r.State, r.Cause = run.Failed, "gobench ended before the run did"
		r.Missing = append(r.Missing, "what was not yet written when gobench ended")
	}
	return r, nil
}

// owned tells whether the process that makes the folder is alive.
func (h History) owned(id string) bool {
	b, err := os.ReadFile(filepath.Join(h.Dir(id), ownerFile))
	if err != nil {
		return false
	}
	var pid int
	if _, err := fmt.Sscan(string(b), &pid); err != nil || pid <= 0 {
		return false
	}
	err = syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// List gives the ids of all runs, the oldest first.
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

// Find gives the id that begins or ends with part, "last" the newest. An error
// names the candidates when there is more than one.
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
		if len(part) >= 3 && (hasPrefix(id, part) || hasPrefix(id[strings.LastIndexByte(id, '-')+1:], part)) {
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

func hasPrefix(s, p string) bool { return len(s) >= len(p) && s[:len(p)] == p }

// Remove deletes the folder of run id. A run that goes on is refused.
func (h History) Remove(id string) error {
	if !run.ValidID(id) {
		return fmt.Errorf("%w: %q", run.ErrNotFound, id)
	}
	if r, err := h.Load(id); err == nil && !r.State.Final() {
		return fmt.Errorf("run %s is %s: stop it first", id, r.State)
	}
	return os.RemoveAll(h.Dir(id))
}

// Size is the number of bytes that the folder of run id takes, and Created the
// time its id tells.
func (h History) Size(id string) (n int64) {
	_ = filepath.WalkDir(h.Dir(id), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil // what cannot be read is not counted
	})
	return n
}

// Created is the time that an id tells.
func Created(id string) time.Time {
	t, _ := time.Parse("20060102-150405", id[:15])
	return t
}
