package store

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// copyStore copies the files of a store that is not being written to.
func copyStore(t *testing.T, from, to string) {
	t.Helper()
	for _, end := range []string{"", "-wal"} { // -shm is created from these
		b, err := os.ReadFile(from + end)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		must(t, err)
		must(t, os.WriteFile(to+end, b, 0o600))
	}
}

// F17: the files at any moment while a master works are a consistent store with everything
// that was acknowledged.
func TestAnyMomentCanBeTheLast(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "gobench.db")
	cmd, out := startChild(t, "take", path)
	must(t, cmd.Start())
	var said atomic.Int64
	lines := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			var n int64
			if _, err := fmt.Sscanf(scan.Text(), "kept %d", &n); err == nil {
				if said.Swap(n) == 0 {
					close(lines)
				}
			} else if scan.Text() != "opened" {
				t.Error(scan.Text())
			}
		}
	}()
	defer func() {
		cmd.Process.Kill()
		<-ended
		_ = cmd.Wait()
	}()
	select {
	case <-lines:
	case <-time.After(time.Minute):
		t.Fatal("the child says nothing")
	}
	r := rand.New(rand.NewPCG(7, 8))
	last, grew := 0, 0
	for i := range 30 {
		next := time.After(time.Duration(r.IntN(60_000)) * time.Microsecond)
		<-next
		must(t, cmd.Process.Signal(syscall.SIGSTOP))
		stopped(t, cmd.Process.Pid)
		atLeast := int(said.Load())
		at := filepath.Join(t.TempDir(), fmt.Sprintf("copy%d.db", i))
		copyStore(t, path, at)
		must(t, cmd.Process.Signal(syscall.SIGCONT))
		s, err := Open(t.Context(), Options{Path: at, Fold: addCounts}) // with its quick_check
		if err != nil {
			t.Fatal(err)
		}
		n, err := consistent(t.Context(), s, runID(1), 2)
		if err != nil || n < atLeast {
			t.Errorf("moment %d: %d intakes of %d that were said to be kept: %v", i, n, atLeast, err)
		}
		must(t, s.Close())
		if n > last {
			last, grew = n, grew+1
		}
	}
	if grew < 10 {
		t.Errorf("only %d of 30 moments saw something new", grew)
	}
	must(t, cmd.Process.Kill())
	<-ended
	s, err := Open(t.Context(), Options{Path: path, Fold: addCounts})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n, err := consistent(t.Context(), s, runID(1), 2); err != nil || n < int(said.Load()) {
		t.Errorf("killed: %d intakes of %d that were said to be kept: %v", n, said.Load(), err)
	}
	t.Logf("killed after %d intakes; %d different moments", last, grew)
}

// stopped waits until all threads of a process are stopped.
func stopped(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		must(t, err)
		moving := len(tasks) == 0
		for _, task := range tasks {
			b, err := os.ReadFile(task)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
				continue
			}
			must(t, err)
			_, state, _ := strings.Cut(string(b), ") ")
			moving = moving || !strings.HasPrefix(state, "T")
		}
		if !moving {
			return
		}
	}
	t.Fatal("the process does not stop")
}

// F20: after a write that the disk refuses nothing is written any more, and everything
// acknowledged is stored.
func TestAfterAnErrorOfTheDiskNothingIsWritten(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal("strace is not installed: sudo apt-get install strace")
	}
	for _, call := range []string{"fdatasync,fsync:error=EIO:when=60+", "pwrite64:error=EIO:when=300+"} {
		name, _, _ := strings.Cut(call, ":")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "gobench.db")
			trace := filepath.Join(t.TempDir(), "trace")
			cmd, out := startChild(t, "eio", path, strace, "-f", "-qq", "-o", trace, "-e", "trace="+name, "-e", "inject="+call)
			text := ended(t, cmd, out)
			if !strings.Contains(text, "failed as it should") || !strings.Contains(text, path) {
				t.Fatalf("the child says:\n%s", text)
			}
			said := strings.Count(text, "kept ")
			s, err := Open(t.Context(), Options{Path: path, Fold: addCounts})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			n, err := consistent(t.Context(), s, runID(1), 2)
			if err != nil || n < said || n > said+1 || said < 3 { // what failed may be stored: it will be sent again
				t.Errorf("%d intakes of %d that were said to be kept: %v", n, said, err)
			}
		})
	}
}

// F18: when the disk is full, a write fails and leaves nothing; writes succeed again when
// there is room.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	cmd, out := startChild(t, "full", filepath.Join(t.TempDir(), "disk", "gobench.db"))
	ownMounts(cmd)
	if text := ended(t, cmd, out); !strings.Contains(text, "full after") || !strings.HasSuffix(text, "done\n") {
		t.Errorf("the child says:\n%s", text)
	}
}

// F22: a store that can't be written to is refused; root may write to all files, so the
// test opens it as another user.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "gobench-store-") // t.TempDir is not accessible to other users
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	binary := filepath.Join(dir, "test")
	b, err := os.ReadFile(os.Args[0])
	must(t, err)
	must(t, os.WriteFile(binary, b, 0o700))
	must(t, os.Chmod(binary, 0o755))
	for name, mode := range map[string][2]fs.FileMode{"file": {0o777, 0o444}, "folder": {0o555, 0o666}, "secret": {0o777, 0}} {
		t.Run(name, func(t *testing.T) {
			data := filepath.Join(dir, name)
			path := filepath.Join(data, "gobench.db")
			s, err := Open(t.Context(), Options{Path: path, Fold: addCounts})
			if err != nil {
				t.Fatal(err)
			}
			must(t, s.Close())
			must(t, os.Remove(path+".lock"))
			must(t, os.Chmod(path, mode[1]))
			must(t, os.Chmod(data, mode[0]))
			cmd, out := startChild(t, "open", path)
			cmd.Path, cmd.Args[0] = binary, binary
			if os.Geteuid() == 0 {
				asNobody(cmd)
			}
			text := ended(t, cmd, out)
			if !strings.Contains(text, path) || !strings.Contains(text, "must be writable") {
				t.Errorf("the child says:\n%s", text)
			}
			must(t, os.Chmod(data, 0o700))
		})
	}
}

// F21: a second master is refused with an error that names the first.
func TestASecondMasterInAnotherProcess(t *testing.T) {
	t.Parallel()
	e := sqliteFile(t)
	s := e.open()
	cmd, out := startChild(t, "open", e.options.Path)
	if text := ended(t, cmd, out); !strings.Contains(text, fmt.Sprintf("pid %d:", os.Getpid())) || !strings.Contains(text, e.options.Path) {
		t.Errorf("the second says:\n%s", text)
	}
	must(t, s.Close())
	cmd, out = startChild(t, "open", e.options.Path)
	if text := ended(t, cmd, out); text != "opened\n" {
		t.Errorf("after the first has ended, the second says:\n%s", text)
	}
	cmd, out = startChild(t, "take", e.options.Path)
	must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "opened\n" {
		t.Fatalf("%q, %v", line, err)
	}
	_, err = Open(t.Context(), e.options)
	var locked *Error
	if !errors.As(err, &locked) || locked.Kind != Locked || !strings.Contains(err.Error(), fmt.Sprintf("pid %d:", cmd.Process.Pid)) {
		t.Errorf("while the child has it: %v", err)
	}
	must(t, cmd.Process.Kill())
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
	e.open() // a lock is released when its process ends
}
