package sandbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gobench-io/gobench/internal/agent/sandbox"
)

// This test binary is also what runs in the boxes it makes: what roleEnv says.
const roleEnv = "CONFINE_TEST_ROLE"

func TestMain(m *testing.M) {
	sandbox.Main()
	switch role := os.Getenv(roleEnv); role {
	case "":
		os.Exit(m.Run())
	case "probe":
		probe()
	case "get away":
		getAway()
	case "sleep":
		fmt.Println("here")
		time.Sleep(time.Hour) // the runtime ends a program without cgo that blocks for good
	case "eat memory":
		fmt.Println("here")
		var all [][]byte
		for {
			b := make([]byte, 1<<20)
			for i := range b {
				b[i] = 1
			}
			all = append(all, b)
			runtime.KeepAlive(all)
		}
	default:
		panic(role)
	}
}

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

// box makes one, and starts this binary in a role in it.
func box(t *testing.T, o sandbox.Options, role string) (*sandbox.Box, *exec.Cmd, func() string) {
	t.Helper()
	b, err := sandbox.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd, err := b.Command(f, b.Environ([]string{roleEnv + "=" + role, "GIVEN=yes"}))
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out // a file: a process that holds it open blocks no one
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range cmd.ExtraFiles {
		f.Close()
	}
	go func() { _ = cmd.Wait() }() // seen by who looks at /proc
	read := func() string {
		b, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	until(t, "it is at work", func() bool {
		s := read()
		return strings.Contains(s, "here\n") || strings.HasSuffix(s, "}\n") || !alive(cmd.Process.Pid)
	})
	return b, cmd, read
}

func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !f(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in 30 s: %s", what)
		}
	}
}

func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(b), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

func root(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("the test needs to be root: sudo go test ./internal/agent/sandbox")
	}
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

// Two boxes at once are two users; a user is given out again only when nothing runs as it.
func TestUsersAreApart(t *testing.T) {
	root(t)
	t.Parallel()
	a, _, _ := box(t, sandbox.Options{}, "sleep")
	b, cmd, _ := box(t, sandbox.Options{}, "sleep")
	if a.UID == b.UID || a.UID == 0 || b.UID == 0 {
		t.Fatalf("users %d and %d", a.UID, b.UID)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if !alive(cmd.Process.Pid) {
		t.Error("the end of one box is the end of the other")
	}
}

// A user is free again if its box can't be created.
func TestAFailureReleasesTheUser(t *testing.T) {
	root(t)
	const user = 64998 // which other tests reach only when hundreds are in use
	gone := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(gone)
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	if _, err := sandbox.New(sandbox.Options{User: user, Work: "relative"}); err == nil {
		t.Error("a box was created relative to a folder that does not exist")
	}
	b, err := sandbox.New(sandbox.Options{User: user})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// F30: the kernel's kill for want of memory is known as such.
func TestOutOfMemory(t *testing.T) {
	root(t)
	t.Parallel()
	b, cmd, _ := box(t, sandbox.Options{Memory: 64 << 20}, "eat memory")
	if b.Level != 2 {
		t.Fatalf("level %d: the test needs a control group for memory", b.Level)
	}
	until(t, "it is killed", func() bool { return !alive(cmd.Process.Pid) })
	if b.OOMKills() == 0 {
		t.Error("no kill for want of memory is counted")
	}
}

func TestLevel(t *testing.T) {
	t.Parallel()
	work, err := os.MkdirTemp("/tmp", "level-") // t.TempDir's path is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(work)
	same, err := sandbox.Level(sandbox.Options{Same: true, Work: work})
	if err != nil || same != 0 {
		t.Errorf("as the same user: %d %v", same, err)
	}
	if level, err := sandbox.Level(sandbox.Options{Work: work}); err != nil || os.Geteuid() == 0 && level == 0 {
		t.Errorf("level %d, %v", level, err)
	}
	if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// What is noted of a box before it is made is enough to delete it in another life, however
// much of it there is; a note that can't be taken makes no box.
func TestNote(t *testing.T) {
	t.Parallel()
	work, err := os.MkdirTemp("/tmp", "note-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(work)
	left := func() []os.DirEntry {
		t.Helper()
		all, err := os.ReadDir(work)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	for _, refused := range []bool{true, false} {
		var noted sandbox.State
		b, err := sandbox.New(sandbox.Options{Work: work, Memory: 64 << 20, Note: func(s sandbox.State) error {
			if noted = s; len(left()) > 0 {
				t.Errorf("%v is there before it is noted", left())
			}
			if refused {
				return os.ErrDeadlineExceeded
			}
			return nil
		}})
		if refused {
			if !errors.Is(err, os.ErrDeadlineExceeded) || len(left()) > 0 {
				t.Errorf("refused: %v, %v is left", err, left())
			}
		} else if err != nil || b.Folder != noted.Folder || b.Mark != noted.Mark || b.UID != noted.UID || len(b.Cgroups) > len(noted.Cgroups) {
			t.Errorf("noted is %+v, made %+v, %v", noted, b, err)
		} else {
			for _, dir := range b.Cgroups {
				if !slices.Contains(noted.Cgroups, dir) {
					t.Errorf("control group %s is not noted", dir)
				}
			}
		}
		if err := sandbox.Open(noted).Close(); err != nil {
			t.Errorf("refused %v: %v", refused, err)
		}
		for _, dir := range append(noted.Cgroups, noted.Folder) {
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("refused %v: %s is left: %v", refused, dir, err)
			}
		}
	}
}

// A box whose folder is gone, or whose helper can't do its work, says why.
func TestWhatGoesWrong(t *testing.T) {
	t.Parallel()
	if _, err := sandbox.New(sandbox.Options{Work: filepath.Join(t.TempDir(), "nowhere")}); err == nil {
		t.Error("a box was made in no folder")
	}
	b, err := sandbox.New(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no program"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(text)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd, err := b.Command(f, b.Environ(nil))
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "exec format error") {
		t.Errorf("%v: %s", err, out)
	}
	for _, f := range cmd.ExtraFiles {
		f.Close()
	}
}
