//go:build linux

package sandbox_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gobench-io/gobench/internal/agent/sandbox"
)

// found is what a process of a box finds.
type found struct {
	Pid, UID, GID int
	Groups        []int
	Status        map[string]string // of /proc/self/status
	Files, Core   uint64
	Dir           string
	Umask         int
	Env           []string
	Cgroup        string
	Fds           []string
	Errors        map[string]string // of what it must not do
}

func probe() {
	f := found{Pid: os.Getpid(), UID: os.Getuid(), GID: os.Getgid(), Env: os.Environ(), Status: map[string]string{}, Errors: map[string]string{}}
	f.Groups, _ = os.Getgroups()
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		f.Status[name] = strings.TrimSpace(value)
	}
	var l unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &l)
	f.Files = l.Max
	_ = unix.Getrlimit(unix.RLIMIT_CORE, &l)
	f.Core = l.Max
	f.Dir, _ = os.Getwd()
	f.Umask = unix.Umask(0)
	cgroup, _ := os.ReadFile("/proc/self/cgroup")
	f.Cgroup = string(cgroup)
	fds, _ := os.ReadDir("/proc/self/fd")
	for _, fd := range fds {
		to, _ := os.Readlink("/proc/self/fd/" + fd.Name())
		f.Fds = append(f.Fds, fd.Name()+" "+to)
	}
	for name, try := range map[string]func() error{
		"read /etc/shadow":  func() error { _, err := os.ReadFile("/etc/shadow"); return err },
		"become root":       func() error { return syscall.Setuid(0) },
		"kill the parent":   func() error { return syscall.Kill(os.Getppid(), 0) },
		"list the box":      func() error { _, err := os.ReadDir(filepath.Dir(f.Dir)); return err },
		"write to own home": func() error { return os.WriteFile("mine", nil, 0o600) },
		"write to TMPDIR":   func() error { return os.WriteFile(filepath.Join(os.TempDir(), "mine"), nil, 0o600) },
	} {
		if err := try(); err != nil {
			f.Errors[name] = err.Error()
		}
	}
	_ = json.NewEncoder(os.Stdout).Encode(f)
	os.Exit(0)
}

// Security, point 7, level 1: what a process in a box is and what it can't do.
func TestWhatAProcessInABoxIs(t *testing.T) {
	root(t)
	t.Parallel()
	b, _, out := box(t, sandbox.Options{}, "probe")
	var f found
	if err := json.Unmarshal([]byte(out()), &f); err != nil {
		t.Fatalf("%v: %s", err, out())
	}
	if b.Level < 1 || f.UID != b.UID || f.GID != b.UID || f.UID < 64000 || len(f.Groups) != 0 {
		t.Errorf("level %d, user %d, group %d, groups %v", b.Level, f.UID, f.GID, f.Groups)
	}
	for name, want := range map[string]string{"NoNewPrivs": "1", "CapInh": "0000000000000000", "CapPrm": "0000000000000000",
		"CapEff": "0000000000000000", "CapBnd": "0000000000000000", "CapAmb": "0000000000000000"} {
		if f.Status[name] != want {
			t.Errorf("%s is %s, want %s", name, f.Status[name], want)
		}
	}
	if f.Files != sandbox.OpenFiles() || f.Core != 0 || f.Umask != 0o077 || f.Dir != b.Home() {
		t.Errorf("files %d of %d, core %d, umask %o, folder %s", f.Files, sandbox.OpenFiles(), f.Core, f.Umask, f.Dir)
	}
	var names []string
	for _, v := range f.Env {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	if want := []string{roleEnv, "GIVEN", sandbox.MarkEnv, "HOME", "LANG", "PATH", "TMPDIR"}; !slices.Equal(names, want) {
		t.Errorf("environment %v, want %v", names, want)
	}
	for _, dir := range b.Cgroups {
		if !strings.Contains(f.Cgroup, filepath.Base(dir)) {
			t.Errorf("it is in %s, not in %s", f.Cgroup, dir)
		}
	}
	for _, fd := range f.Fds {
		number, to, _ := strings.Cut(fd, " ")
		if n, _ := strconv.Atoi(number); n > 2 && (strings.Contains(to, "gobench-order") || strings.HasSuffix(to, ".test")) {
			t.Errorf("it was left file %s", fd)
		}
	}
	for name := range map[string]bool{"read /etc/shadow": true, "become root": true, "kill the parent": true, "list the box": true} {
		if f.Errors[name] == "" {
			t.Errorf("it can %s", name)
		}
	}
	for name, err := range f.Errors {
		if strings.HasPrefix(name, "write to") {
			t.Errorf("it can't %s: %s", name, err)
		}
	}
	for path, want := range map[string]os.FileMode{b.Folder: 0o711, b.Home(): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, want %o", path, info.Mode(), want)
		}
	}
}
