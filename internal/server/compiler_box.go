package server

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gobench-io/gobench/internal/agent/sandbox"
	"github.com/gobench-io/gobench/internal/run"
)

// box creates the sandbox to compile in. If another master of this machine uses it, box
// waits until that has left, and returns the context's cause if ctx ends first. The caller
// must close it by leave.
func (c *compiler) box(ctx context.Context) (*sandbox.Box, error) {
	for {
		box, err := sandbox.New(sandbox.Options{User: c.user, Same: c.user == 0, Note: c.note})
		if !errors.Is(err, sandbox.ErrTaken) {
			return box, err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// note stores what the next process of this master needs to clear up after a crash. If it
// can't be written, that is logged and scenarios are compiled anyway: the error is
// always nil.
func (c *compiler) note(box sandbox.State) error {
	b, err := json.Marshal(box)
	if err == nil {
		err = os.WriteFile(c.notes, b, 0o600)
	}
	if err != nil {
		c.log.Warn("store where scenarios are compiled", "error", err)
	}
	return nil
}

// forget deletes what note has stored. An error is logged.
func (c *compiler) forget() {
	if err := os.Remove(c.notes); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.log.Warn("forget where scenarios were compiled", "error", err)
	}
}

// leave closes a box, which deletes it and ends its processes, and forgets its note. If that
// fails, it logs the error and the note stays for the next process.
func (c *compiler) leave(box *sandbox.Box) {
	if err := box.Close(); err != nil {
		c.log.Error("clear up after the compiler", "error", err)
		return
	}
	c.forget()
}

// reap closes the box that a previous process of this master left when it was killed.
func (c *compiler) reap() {
	var left sandbox.State
	b, err := os.ReadFile(c.notes)
	if err != nil || json.Unmarshal(b, &left) != nil || left.Folder == "" {
		return // nothing is left, or the note was not written completely
	}
	c.log.Warn("deleting what the previous process of this master was compiling", "folder", left.Folder)
	c.leave(sandbox.Open(left))
}

// write writes a source's files into folder, which it creates in the box, for the box's
// user. A path that leads out of folder is an error. After an error, files written before
// stay.
func write(box *sandbox.Box, folder string, source run.Source) error {
	files := append([]run.File{{Path: source.FileName(), Data: []byte(source.Scenario)}}, source.Files...)
	if source.GoMod != "" {
		files = append(files, run.File{Path: "go.mod", Data: []byte(source.GoMod)})
	}
	if source.GoSum != "" {
		files = append(files, run.File{Path: "go.sum", Data: []byte(source.GoSum)})
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range files {
		if dir := filepath.Dir(f.Path); dir != "." {
			if err := root.MkdirAll(dir, 0o700); err != nil {
				return err
			}
		}
		if err := root.WriteFile(f.Path, f.Data, 0o600); err != nil {
			return err
		}
	}
	return filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, box.Chown(path))
	})
}
