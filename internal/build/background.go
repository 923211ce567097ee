package build

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gobench-io/gobench/internal/run/filelock"
	"github.com/gobench-io/gobench/internal/run/system"
)

// The first scenario that a machine compiles takes half a minute, because all that
// scenarios import has to be compiled too. So after its first run gobench does that in a
// background process of low priority. A run that begins meanwhile ends that process.

// BackgroundCommand is the only argument of the background process's command line. The
// program must call RunBackground then. If NoBackgroundEnv is set, it is not started.
const (
	BackgroundCommand = "warm"
	NoBackgroundEnv   = "GOBENCH_NO_WARM"
)

// warming is the file that the background process locks, and writes its pid to.
const warming = "warming"

// StartBackground starts this program as the background process and does not wait for it,
// unless it has been done for this gobench or NoBackgroundEnv is set. Errors are ignored: it
// only saves time.
func StartBackground() {
	dir, err := DefaultDir()
	if err != nil || os.Getenv(NoBackgroundEnv) != "" {
		return
	}
	if _, err := os.Stat(warmedFile(dir)); err == nil {
		return
	}
	self, err := os.Executable()
	if err != nil {
		return
	}
	cmd := exec.Command(self, BackgroundCommand)
	cmd.SysProcAttr = system.Detached() // it continues after this process and its terminal
	if cmd.Start() == nil {
		_ = cmd.Process.Release()
	}
}

// RunBackground is the work of the background process. It returns nil also if another process
// does it already, or the lock cannot be taken. If ctx ends, it returns an error that wraps
// ctx's cause, and is begun anew after a later run.
func RunBackground(ctx context.Context, sdk SDK) error {
	dir, err := DefaultDir()
	if err != nil {
		return err
	}
	b, err := New(sdk, dir, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(dir, warming), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if ok, err := filelock.Try(lock); !ok || err != nil {
		return nil // another process does it
	}
	if err := lock.Truncate(0); err != nil {
		return err
	}
	fmt.Fprintf(lock, "pid %d\n", os.Getpid())
	if err := b.Warm(ctx, Options{Person: ThisPerson()}); err != nil {
		return err
	}
	return os.WriteFile(warmedFile(dir), nil, 0o600)
}

// StopBackground ends the background process and waits until it is gone, at most 5 s, so that
// it does not compete with the load. It returns at once if there is no such process, or if
// that can't be ended.
func StopBackground() {
	dir, err := DefaultDir()
	if err != nil {
		return
	}
	lock, err := os.Open(filepath.Join(dir, warming))
	if err != nil {
		return
	}
	defer lock.Close()
	held := func() bool { ok, err := filelock.Try(lock); return !ok || err != nil }
	if !held() {
		return
	}
	var pid int
	if _, err := fmt.Fscanf(lock, "pid %d", &pid); err != nil || pid <= 1 || system.Terminate(pid) != nil {
		return
	}
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for end := time.Now().Add(5 * time.Second); held() && time.Now().Before(end); {
		<-poll.C
	}
}

// Clear deletes the folder of a user's builds with all in it, and returns its path, also if
// it did not exist. It first ends the background process. If dry, it deletes nothing.
func Clear(dry bool) (dir string, err error) {
	if dir, err = DefaultDir(); err != nil || dry {
		return dir, err
	}
	StopBackground()
	return dir, os.RemoveAll(dir)
}

// warmedFile returns the path of the file in dir that exists once RunBackground has been done
// for this gobench, which its program's size and time of change stand for.
func warmedFile(dir string) string {
	name := "warmed"
	if self, err := os.Executable(); err == nil {
		if info, err := os.Stat(self); err == nil {
			name += fmt.Sprintf("-%d-%d", info.Size(), info.ModTime().Unix())
		}
	}
	return filepath.Join(dir, name)
}
