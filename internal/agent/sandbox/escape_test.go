//go:build linux

package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/agent/sandbox"
)

// getAway does all it can to outlive its box: children with sessions of their own, without the
// mark, whose parents are gone.
func getAway() {
	for _, script := range []string{
		"sleep 600 & echo $!",
		"setsid sleep 600 >/dev/null 2>&1 & echo $!",
		"(setsid sh -c 'sleep 600 & echo $!; exit 0' &)",
		"env -i setsid sleep 600 >/dev/null 2>&1 & echo $!", // not known by its mark
	} {
		cmd := exec.Command("sh", "-c", script)
		cmd.Stdout = os.Stdout
		if err := cmd.Run(); err != nil {
			panic(err)
		}
	}
	_ = os.WriteFile("/dev/shm/gobench-test-litter-"+strconv.Itoa(os.Getpid()), nil, 0o600) // swept away
	fmt.Println("here")
	time.Sleep(time.Hour)
}

// A box that is closed again does not kill the processes of the one that has its user now.
func TestClosedAgain(t *testing.T) {
	root(t)
	t.Parallel()
	first, _, _ := box(t, sandbox.Options{}, "sleep")
	user := first.UID
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	var second *sandbox.Box
	until(t, "the user is free", func() (ok bool) { // boxes of other tests may have it
		var err error
		if second, err = sandbox.New(sandbox.Options{User: user}); err != nil && !errors.Is(err, sandbox.ErrTaken) {
			t.Fatal(err)
		}
		return err == nil
	})
	defer second.Close()
	cmd, _ := begin(t, second, "sleep")
	if err := first.Close(); err != nil || !alive(cmd.Process.Pid) {
		t.Errorf("closed again: %v; the other box's process lives: %v", err, alive(cmd.Process.Pid))
	}
}

// A process whose first thread has ended looks like a zombie while its others run.
func TestFirstThreadEnds(t *testing.T) {
	root(t)
	t.Parallel()
	for name, less := range map[string]func(*sandbox.Box){
		"group": func(b *sandbox.Box) { b.UID = 0 },
		"user":  func(b *sandbox.Box) { b.Cgroups = nil },
		"mark":  func(b *sandbox.Box) { b.Cgroups, b.UID = nil, 0 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, cmd, _ := box(t, sandbox.Options{}, "first thread ends")
			whole := *b
			t.Cleanup(func() { _ = whole.Kill() })
			less(b)
			if err := b.Kill(); err != nil {
				t.Error(err)
			}
			if alive(cmd.Process.Pid) {
				t.Error("it got away")
			}
		})
	}
}

// F48, I9: nothing gets away, by whatever means this process has, and no file, no group
// and no folder is left.
func TestNothingGetsAway(t *testing.T) {
	root(t)
	t.Parallel()
	for _, tt := range []struct {
		name string
		o    sandbox.Options
		less func(*sandbox.Box) // takes means away
		may  int                // how many may get away
	}{
		{name: "group and user"},
		{name: "user alone", less: func(b *sandbox.Box) { b.Cgroups = nil }},
		{name: "group alone", o: sandbox.Options{Same: true}},
		{name: "mark alone", o: sandbox.Options{Same: true}, less: func(b *sandbox.Box) { b.Cgroups = nil }, may: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b, cmd, out := box(t, tt.o, "get away")
			whole := b.State
			if tt.less != nil {
				tt.less(b)
			}
			var pids []int
			until(t, "4 children live", func() bool {
				pids = nil
				for _, text := range strings.Fields(out()) {
					if pid, err := strconv.Atoi(text); err == nil && alive(pid) {
						pids = append(pids, pid)
					}
				}
				return len(pids) == 4
			})
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			var left []int
			for _, pid := range append(pids, cmd.Process.Pid) {
				if alive(pid) {
					left = append(left, pid)
				}
			}
			if len(left) > tt.may {
				t.Errorf("processes %v got away", left)
			}
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			if tt.less != nil { // the group that Close was not to know of
				if err := sandbox.Open(whole).Close(); err != nil {
					t.Error(err)
				}
			}
			litter, _ := filepath.Glob("/dev/shm/gobench-test-litter-" + strconv.Itoa(cmd.Process.Pid))
			for _, path := range append(append([]string{whole.Folder}, whole.Cgroups...), litter...) {
				if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) && (whole.UID != 0 || !slices.Contains(litter, path)) {
					t.Errorf("%s is left: %v", path, err)
				}
				_ = os.Remove(path)
			}
		})
	}
}
