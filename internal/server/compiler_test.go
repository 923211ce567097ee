//go:build linux

package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/agent/sandbox"
	"github.com/gobench-io/gobench/internal/run"
)

// A master that is killed while it compiles leaves a source in a folder: the next start
// deletes that, and nothing else.
func TestWhatACompilerLeaves(t *testing.T) {
	own, cache, log := t.TempDir(), filepath.Join(t.TempDir(), "cache"), slog.New(slog.DiscardHandler)
	c, err := newCompiler(t.Context(), cache, own, 0, log)
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
	if _, err := newCompiler(t.Context(), cache, own, 0, log); err != nil {
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
	if _, err := newCompiler(t.Context(), cache, own, 0, log); err != nil {
		t.Error(err)
	}
	gone(notes)
}

// After a Compile, even one whose context has ended while it waited, nothing is warmed: that
// would compete with it.
func TestCompileEndsWarm(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	own := t.TempDir()
	c, err := newCompiler(t.Context(), filepath.Join(t.TempDir(), "cache"), own, 0, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	c.notes = filepath.Join(own, "missing", "compiling.json") // so that a box leaves a line in the log
	if err := c.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := c.Compile(ctx, run.Source{}, "", "", func(string) {})
		ended <- err
	}()
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Compile after the end of its context: %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("Compile waits after the end of its context")
	}
	c.end()
	c.warm()
	if log.Len() > 0 {
		t.Errorf("warmed after a Compile: %s", &log)
	}
}

// The user that compiles reaches the cache and reads the source, whatever the umask of the
// master is.
func TestTheCompilerReadsItsFiles(t *testing.T) { // not parallel: the umask is the process's
	defer syscall.Umask(syscall.Umask(0o077))
	dir, err := os.MkdirTemp("/tmp", "c")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	c, err := newCompiler(t.Context(), filepath.Join(dir, "var", "cache", "gobench"), t.TempDir(), 0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if c.user == 0 {
		t.Fatal("the compiler has no user of its own (the test needs to be root)")
	}
	box, err := c.box(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.leave(box)
	folder := filepath.Join(box.Home(), "scenario")
	source := run.Source{Scenario: "package main", Files: []run.File{{Path: "data/more/names.csv", Data: []byte("a")}}}
	if err := write(box, folder, source); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"cat", filepath.Join(folder, source.FileName()), filepath.Join(folder, "data/more/names.csv")},
		{"ls", "-R", folder},
		{"touch", filepath.Join(c.dir, "x")},
	} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(c.user), Gid: uint32(c.user)}}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v: %s", args, err, out)
		}
	}
}

// The kernel kills the compiler's process with the thread that has started it. Threads of the
// master that end do not end that.
func TestCompilerOutlivesThreads(t *testing.T) {
	t.Parallel()
	c, err := newCompiler(t.Context(), filepath.Join(t.TempDir(), "cache"), t.TempDir(), 0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	box, err := sandbox.New(sandbox.Options{Same: true})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	file := filepath.Join(box.Home(), "go on")
	order, err := json.Marshal(compileOrder{Source: file})
	if err != nil {
		t.Fatal(err)
	}
	last, err := c.child(t.Context(), box, order, func(string) {
		var threads sync.WaitGroup
		for range 200 {
			threads.Go(func() {
				runtime.LockOSThread() // and no unlock: the thread ends with the goroutine
				time.Sleep(10 * time.Millisecond)
			})
		}
		threads.Wait()
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Error(err)
		}
	})
	if err != nil || last.Path != "here" {
		t.Errorf("report %+v, %v", last, err)
	}
}
