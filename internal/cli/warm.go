package cli

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gobench-io/gobench/internal/build"
	"github.com/gobench-io/gobench/internal/run/filelock"
	"github.com/gobench-io/gobench/internal/run/system"
)

// The first scenario that a machine compiles takes half a minute, because all that
// scenarios import has to be compiled too. So after its first run gobench does that in a
// background process of low priority. A run that begins meanwhile ends that process.

// warmCommand begins the command line of the background process. If noWarmEnv is set, it
// is not started.
const (
	warmCommand = "warm"
	noWarmEnv   = "GOBENCH_NO_WARM"
)

// warming is the file that the background process locks, and writes its pid to.
const warming = "warming"

// startWarming starts the background process and does not wait for it, unless it has been
// done for this gobench or noWarmEnv is set. Errors are ignored: it only saves time.
func (a *app) startWarming() {
	dir, err := build.DefaultDir()
	if err != nil || os.Getenv(noWarmEnv) != "" {
		return
	}
	if _, err := os.Stat(warmedFile(dir)); err == nil {
		return
	}
	self, err := os.Executable()
	if err != nil {
		return
	}
	cmd := exec.Command(self, warmCommand)
	cmd.SysProcAttr = system.Detached() // it continues after this process and its terminal
	if cmd.Start() == nil {
		_ = cmd.Process.Release()
	}
}

// runWarm is the background process and returns its exit status, 0 also if another process
// does it already. SIGTERM ends it; it is then begun anew after a later run.
func runWarm(sdk fs.FS) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := build.DefaultDir()
	if err != nil {
		return exitFailed
	}
	_ = os.MkdirAll(dir, 0o755)
	lock, err := os.OpenFile(filepath.Join(dir, warming), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return exitFailed
	}
	defer lock.Close()
	if ok, err := filelock.Try(lock); !ok || err != nil {
		return exitOK // another process does it
	}
	if err := lock.Truncate(0); err != nil {
		return exitFailed
	}
	fmt.Fprintf(lock, "pid %d\n", os.Getpid())
	b, err := (&app{sdk: sdk}).builder(slog.New(slog.DiscardHandler))
	if err != nil {
		return exitFailed
	}
	if err := b.Warm(ctx, build.Options{Person: build.ThisPerson()}); err != nil {
		return exitFailed
	}
	if os.WriteFile(warmedFile(dir), nil, 0o600) != nil {
		return exitFailed
	}
	return exitOK
}

// stopWarming ends the background process and waits until it is gone, at most 5 s, so that
// it does not compete with the load. It returns at once if there is no such process, or if
// that can't be ended.
func stopWarming() {
	dir, err := build.DefaultDir()
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

// warmedFile returns the path of the file in dir that exists once runWarm has been done
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
