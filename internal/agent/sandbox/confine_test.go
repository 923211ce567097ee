//go:build linux

package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/agent/sandbox"
)

// This test binary is also what runs in the boxes it makes: what roleEnv says.
const roleEnv = "CONFINE_TEST_ROLE"

func init() {
	if os.Getenv(roleEnv) == "first thread ends" {
		runtime.LockOSThread() // in init, it is the first one
	}
}

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
	case "first thread ends":
		go func() {
			time.Sleep(100 * time.Millisecond) // the first thread has ended by now, most often
			fmt.Println("here")
			time.Sleep(time.Hour)
		}()
		_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
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

// box makes one, and starts this binary in a role in it.
func box(t *testing.T, o sandbox.Options, role string) (*sandbox.Box, *exec.Cmd, func() string) {
	t.Helper()
	b, err := sandbox.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	cmd, out := begin(t, b, role)
	return b, cmd, out
}

// begin starts this binary in a role in b, and returns its process and what reads its output.
func begin(t *testing.T, b *sandbox.Box, role string) (*exec.Cmd, func() string) {
	t.Helper()
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
	return cmd, read
}

func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !f(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in 30 s: %s", what)
		}
	}
}

// alive reports whether a process has a thread that has not ended.
func alive(pid int) bool {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, task := range tasks {
		b, err := os.ReadFile(task)
		_, rest, _ := strings.Cut(string(b), ") ")
		if err == nil && !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X") {
			return true
		}
	}
	return false
}

func root(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("the test needs to be root: sudo go test ./internal/agent/sandbox")
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
