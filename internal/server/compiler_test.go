//go:build linux

package server

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/gobench-io/gobench/internal/agent/sandbox"
)

// A master that is killed while it compiles leaves a source in a folder: the next start
// deletes that, and nothing else.
func TestWhatACompilerLeaves(t *testing.T) {
	own, cache, log := t.TempDir(), filepath.Join(t.TempDir(), "cache"), slog.New(slog.DiscardHandler)
	c, err := newCompiler(cache, own, 0, log)
	if err != nil {
		t.Fatal(err)
	}
	notes := filepath.Join(own, "compiling.json")
	gone := func(path string) {
		t.Helper()
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	gone(notes)
	killed, err := sandbox.New(sandbox.Options{Same: true, Note: c.note}) // and not closed
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(killed.Home(), "scenario.go"), []byte("package main"), 0o600); err != nil {
		t.Fatal(err)
	}
	other, err := sandbox.New(sandbox.Options{Same: true})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := newCompiler(cache, own, 0, log); err != nil {
		t.Fatal(err)
	}
	gone(killed.Folder)
	gone(notes)
	if _, err := os.Stat(other.Folder); err != nil {
		t.Errorf("another master's box: %v", err)
	}
	if err := os.WriteFile(notes, []byte(`{"mark": "hal`), 0o600); err != nil { // killed as it wrote
		t.Fatal(err)
	}
	if _, err := newCompiler(cache, own, 0, log); err != nil {
		t.Error(err)
	}
	gone(notes)
}
