// Package binary builds the gobench program for tests that run it as a process, and
// reads what it wrote.
//
// The program is the one that users install: without cgo and without the race
// detector. A run of make test builds it once and names it in GOBENCH_TEST_BINARY;
// go test of a single package builds it on first use and keeps it in the user's cache
// directory, so that the next test process finds it up to date.
package binary

import (
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run/filelock"
	"github.com/gobench-io/gobench/internal/testing/repo"
)

// env is the environment variable with the path of a gobench that was built before the
// tests. The file's name must be gobench, since tests put its directory into PATH.
const env = "GOBENCH_TEST_BINARY"

var built struct {
	once sync.Once
	path string
	err  error
}

// Gobench returns the absolute path of the gobench program, which it builds if the environment
// names no program (one that is named is not looked at); then it sets env in this process. All
// callers receive the same file and must not change it. It fails the test if the program can't
// be built. It may be called concurrently.
func Gobench(tb testing.TB) string {
	tb.Helper()
	built.once.Do(func() {
		if path := os.Getenv(env); path != "" {
			built.path, built.err = filepath.Abs(path)
			return
		}
		if built.path, built.err = build(repo.Root(tb)); built.err == nil {
			built.err = os.Setenv(env, built.path) // for test processes that this one starts
		}
	})
	if built.err != nil {
		tb.Fatal(built.err)
	}
	return built.path
}

// build runs go build, which leaves a program that is up to date as it is, and returns the
// program's path. Test processes that build at the same time take turns; one that has waited
// for 10 minutes returns an error. The error of a build has what it printed.
func build(root string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(root))
	dir := filepath.Join(cache, "gobench-test", fmt.Sprintf("%08x", h.Sum32()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(dir, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	path := filepath.Join(dir, "gobench")
	cmd := exec.Command("go", "build", "-trimpath", "-race=false", "-ldflags=-s -w", "-o", path, ".")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build gobench: %w\n%s", err, out)
	}
	return path, nil
}

// lock waits, at most 10 minutes, until this process has the lock of a file, which it
// creates if needed. The caller must call unlock.
func lock(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(10 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		locked, err := filelock.Try(f)
		if err == nil && !locked && time.Now().After(end) {
			err = fmt.Errorf("%s: another test process is still building gobench", name)
		}
		if err != nil {
			f.Close()
			return nil, err
		}
		if locked {
			return func() { f.Close() }, nil
		}
	}
}

// Command returns a gobench command line that is ready to start. The process does not fill
// build caches in the background, so that nothing outlives it. It is killed at the end of
// the test if it still runs; the caller must wait for it.
func Command(tb testing.TB, args ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), Gobench(tb), args...)
	cmd.Env = append(os.Environ(), NoWarm)
	return cmd
}

// NoWarm in the environment keeps gobench from filling build caches in the background.
const NoWarm = "GOBENCH_NO_WARM=1"

// Path returns an entry of an environment, PATH=..., in which gobench is the program of
// Gobench.
func Path(tb testing.TB) string {
	tb.Helper()
	return "PATH=" + filepath.Dir(Gobench(tb)) + string(filepath.ListSeparator) + os.Getenv("PATH")
}

// InParallel parses the flags, and lets up to n parallel tests of this process run at once,
// unless go test -parallel sets a number. It suits tests that spend their time waiting for other
// processes. TestMain calls it before m.Run.
func InParallel(n int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(n)) // a number is valid
	}
}
