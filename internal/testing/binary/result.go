package binary

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// ReadResult returns the result that a run wrote to a JSON file. It fails the test if it
// cannot read it.
func ReadResult(tb testing.TB, file string) *run.Result {
	tb.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	r := new(run.Result)
	if err := json.Unmarshal(b, r); err != nil {
		tb.Fatalf("%s: %v", file, err)
	}
	return r
}

// Stored returns the result of the only run in a folder of gobench's (--dir). It fails the
// test if there are more or fewer runs with a result.
func Stored(tb testing.TB, dir string) *run.Result {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "runs", "*", "result.json"))
	if err != nil || len(names) != 1 {
		tb.Fatalf("results %q, error %v, want one", names, err)
	}
	return ReadResult(tb, names[0])
}

// Total returns the count of a counter or histogram, 0 if the result has no such metric.
func Total(r *run.Result, title string) int64 {
	for _, m := range r.Metrics {
		if m.Title == title && m.Count != nil {
			return *m.Count
		}
	}
	return 0
}

// WaitForLoad waits until the only run in a folder of gobench's (--dir) makes load, or
// waits for the last answers. It fails the test after a minute.
func WaitForLoad(tb testing.TB, dir string) {
	tb.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		names, _ := filepath.Glob(filepath.Join(dir, "runs", "*", "result.json"))
		for _, name := range names {
			if b, err := os.ReadFile(name); err == nil && load.Match(b) {
				return
			}
		}
	}
	tb.Fatal("the run made no load within a minute")
}

var load = regexp.MustCompile(`"state": "(running|stopping)"`)

// Child returns the process id of a process's first child, which any of its threads may
// have started; an error if it has no child at the moment.
func Child(pid int) (int, error) {
	var all []string
	names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, name := range names {
		if b, err := os.ReadFile(name); err == nil {
			all = append(all, strings.Fields(string(b))...)
		}
	}
	if len(all) == 0 {
		return 0, fmt.Errorf("process %d has no child", pid)
	}
	return strconv.Atoi(all[0])
}

// MakeWritable makes dir and the directories below it writable, as far as it can, so that a
// cache of read-only files can be removed.
func MakeWritable(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return nil
	})
}

// RunScenario runs a scenario on this machine for some time, with more flags, waits for its
// end, and returns its result and what gobench printed on both outputs. It fails the test
// if gobench's exit status is not 0, or the run is incomplete or has not finished.
func RunScenario(tb testing.TB, file, duration string, flags ...string) (*run.Result, string) {
	tb.Helper()
	dir := tb.TempDir()
	out := filepath.Join(dir, "result.json")
	args := []string{"--dir", filepath.Join(dir, "data"), "run", file, "--duration", duration, "-o", out}
	text, err := Command(tb, append(args, flags...)...).CombinedOutput()
	if err != nil {
		tb.Fatalf("gobench: %v\n%s", err, text)
	}
	r := ReadResult(tb, out)
	if !r.Complete || r.State != run.Finished {
		tb.Errorf("state %s, missing %v", r.State, r.Missing)
	}
	return r, string(text)
}
