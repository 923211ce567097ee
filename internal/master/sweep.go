package master

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// sweep deletes what memory and the folder of logs have of runs that are no longer stored: those
// that retention or DeleteApplication deleted. After an error it continues with other runs; the
// next call tries again.
func (m *Master) sweep(ctx context.Context) error {
	// Listed before the runs are read: each belongs to a run that was stored before.
	ids, err := m.logs.runs()
	if err != nil {
		return err
	}
	if err := m.intake.with(ctx, func() {
		for id := range m.intake.runs {
			ids = append(ids, id)
		}
	}); err != nil {
		return err
	}
	stored, err := m.Store.RunIDs(ctx)
	if err != nil {
		return err
	}
	gone := map[string]bool{}
	for _, id := range ids {
		gone[id] = true
	}
	for _, id := range stored {
		delete(gone, id)
	}
	if err := m.intake.with(ctx, func() { // first, so that no delivery writes output any more
		for id := range gone {
			delete(m.intake.runs, id)
		}
	}); err != nil {
		return err
	}
	var errs []error
	for id := range gone {
		errs = append(errs, m.logs.remove(id))
	}
	return errors.Join(errs...)
}

// Patterns of the folders in Options.Dir that exist only during an import or an export.
const (
	importDir = "import-*"
	exportDir = "export-*"
)

// removeTemporary deletes the folders that a process which was killed left of its imports and
// exports.
func (m *Master) removeTemporary() error {
	entries, err := os.ReadDir(m.Dir)
	errs := []error{err}
	for _, e := range entries {
		imported, _ := filepath.Match(importDir, e.Name())
		exported, _ := filepath.Match(exportDir, e.Name())
		if imported || exported {
			errs = append(errs, os.RemoveAll(filepath.Join(m.Dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}
