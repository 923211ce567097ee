package build

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/testing/servers"
)

// running lists the processes whose command line or directory is in dir.
func running(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, p := range all {
		line, _ := os.ReadFile(filepath.Join(p, "cmdline")) // it may have ended
		cwd, _ := os.Readlink(filepath.Join(p, "cwd"))
		if strings.Contains(string(line), dir) || strings.HasPrefix(cwd, dir) {
			found = append(found, filepath.Base(p)+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// Each limit ends the build with an error that names it, and leaves no process and no file
// behind.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, scenario  string
		limits          Limits
		resource, limit string
	}{
		{"time", servers.SlowToCompile(small), Limits{Time: 2 * time.Second}, "time", "2s"},
		{"memory", servers.HungryToCompile(small), Limits{Time: time.Minute, Memory: 300 << 20}, "memory", "300 MiB"},
		{"output", small, Limits{Time: time.Minute, Output: 2 << 20}, "output", "2 MiB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cache := t.TempDir()
			b := newBuilderIn(t, cache)
			o := offline()
			o.Limits = tt.limits
			start := time.Now()
			_, err := b.Build(context.Background(), Source{Path: files(t, map[string]string{"scenario.go": tt.scenario})}, o)
			took := time.Since(start)
			var limit *LimitError
			if !errors.As(err, &limit) || limit.Resource != tt.resource || limit.Limit != tt.limit {
				t.Errorf("after %v: error = %v, want the %s limit of %s", took, err, tt.resource, tt.limit)
			}
			if took > tt.limits.Time+time.Minute {
				t.Errorf("it took %v", took)
			}
			if left := running(t, cache); len(left) > 0 {
				t.Errorf("still running: %q", left)
			}
			if left, err := os.ReadDir(filepath.Join(cache, "tmp")); err != nil || len(left) > 0 {
				t.Errorf("tmp holds %v (%v)", left, err)
			}
		})
	}
}

// The memory limit is for the sum over the process group: three processes that are each
// below it are ended together.
func TestMemoryOfTheGroup(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"go.mod": "module eat\n\ngo 1.26\n", "main.go": `package main

import (
	"os"
	"os/exec"
	"time"
)

func main() {
	if len(os.Args) > 1 {
		for range 3 {
			if err := exec.Command(os.Args[0]).Start(); err != nil {
				panic(err)
			}
		}
	} else {
		data := make([]byte, 80<<20)
		for i := 0; i < len(data); i += 4096 {
			data[i] = 1
		}
		defer func() { println(data[0]) }()
	}
	time.Sleep(time.Minute)
}
`})
	build := exec.Command("go", "build", "-o", "eat", ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	j := job{path: filepath.Join(dir, "eat"), args: []string{"parent"}, dir: dir,
		out: &output{limit: 1000, progress: func(string) {}}, limits: Limits{Memory: 200 << 20, Output: 1 << 20, Time: time.Minute}}
	start := time.Now()
	err := j.run(context.Background())
	var limit *LimitError
	if !errors.As(err, &limit) || limit.Resource != "memory" {
		t.Errorf("error = %v, want the memory limit\n%s", err, j.out.result())
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	if left := running(t, dir); len(left) > 0 {
		t.Errorf("still running: %q", left)
	}
}

// A call whose context ends returns at once, and nothing keeps running.
func TestCancel(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	b := newBuilderIn(t, cache)
	o := offline()
	ctx, cancel := context.WithCancel(context.Background())
	var stopped time.Time
	o.Progress = func(step string) {
		if strings.HasPrefix(step, "compile") {
			time.AfterFunc(time.Second, func() { stopped = time.Now(); cancel() })
		}
	}
	_, err := b.Build(ctx, Source{Path: files(t, map[string]string{"scenario.go": servers.SlowToCompile(small)})}, o)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
	if took := time.Since(stopped); took > time.Minute {
		t.Errorf("it went on for %v", took)
	}
	if left := running(t, cache); len(left) > 0 {
		t.Errorf("still running: %q", left)
	}
}

// A gobench that is killed takes the go command with it at once; a compiler orphaned by
// that runs out of processor time.
func TestKilledParent(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	fillCache(t)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childEnv+"="+files(t, map[string]string{"scenario.go": servers.SlowToCompile(small)}), childCache+"="+cache, childGo+"="+goCache, childSDKs+"="+shared)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(out); ; {
		if !s.Scan() || strings.HasPrefix(s.Text(), "built:") {
			t.Fatalf("it ended before it compiled: %s %v", s.Text(), s.Err())
		}
		if strings.HasPrefix(s.Text(), "compile") {
			break
		}
	}
	for deadline := time.Now().Add(30 * time.Second); len(running(t, cache)) == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing runs that could be left")
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	var left []string
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if left = running(t, cache); len(left) == 0 {
			return
		}
	}
	t.Errorf("still running: %q", left)
}
