package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestPrune(t *testing.T) {
	t.Parallel()
	b := newBuilderIn(t, t.TempDir())
	now := time.Now()
	add := func(key string, age time.Duration) {
		t.Helper()
		program := filepath.Join(b.dir, "p")
		if err := os.WriteFile(program, []byte(strings.Repeat(key, 100)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := b.keep(key, program, nil); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(b.storeDir(key), now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	add("a", 4*time.Hour)
	add("b", 3*time.Hour)
	add("c", 2*time.Hour)
	add("d", time.Minute)
	if e, ok := b.lookUp("a"); !ok || e.Size != 100 {
		t.Fatalf("lookUp = %+v, %v", e, ok) // and a is now the most recently used
	}
	b.prune(250, time.Hour)
	for key, want := range map[string]bool{"a": true, "b": false, "c": false, "d": true} {
		if _, ok := b.lookUp(key); ok != want {
			t.Errorf("%s is there: %v, want %v", key, ok, want)
		}
	}
	b.prune(0, time.Hour)
	if _, ok := b.lookUp("d"); !ok {
		t.Error("an executor that was just given out is gone")
	}
	if _, ok := b.lookUp("nowhere"); ok {
		t.Error("found what was never kept")
	}
	if err := os.WriteFile(filepath.Join(b.storeDir("d"), "meta.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := b.lookUp("d"); ok {
		t.Error("an executor without its meta was given out")
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	b := newBuilderIn(t, t.TempDir())
	var wg sync.WaitGroup
	holders, most := 0, 0
	var mu sync.Mutex
	for range 8 {
		wg.Go(func() {
			unlock, err := b.lock(context.Background(), "x")
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			holders++
			most = max(most, holders)
			mu.Unlock()
			time.Sleep(time.Millisecond)
			mu.Lock()
			holders--
			mu.Unlock()
			unlock()
		})
	}
	wg.Wait()
	if most != 1 {
		t.Errorf("%d held the lock at once", most)
	}
	unlock, err := b.lock(context.Background(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := b.lock(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v, want the deadline", err)
	}
}

func TestTidy(t *testing.T) {
	t.Parallel()
	b := newBuilderOf(t, SDK{}, t.TempDir())
	old := time.Now().Add(-100 * 24 * time.Hour)
	for name, want := range map[string]bool{"tmp/old": false, "tmp/new": true, "resolved/old": false, "resolved/new": true, "sdk-old": false, "sdk-new": true} {
		dir := filepath.Join(b.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if !want {
			if err := os.Chtimes(dir, old, old); err != nil {
				t.Fatal(err)
			}
		}
		defer func() {
			if _, err := os.Stat(dir); (err == nil) != want {
				t.Errorf("%s is there: %v, want %v", name, err == nil, want)
			}
		}()
	}
	b.tidyTemp()
	b.tidyResolved()
	b.dropOldSDKs(filepath.Join(b.dir, "sdk-new"))
}

// Warm compiles once for a gobench, a Go and a platform; a scenario of every client then
// finds all its imports compiled.
func TestWarm(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	o := offline()
	steps := 0
	o.Progress = func(string) { steps++ }
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if err := newBuilder(t).Warm(context.Background(), offline()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := b.Warm(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	if steps != 0 {
		t.Errorf("warming again took %d steps", steps)
	}
}

func TestCache(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"scenario.go": small + "\n// TestCache\n"})
	b := newBuilder(t)
	var steps []string
	o := offline()
	o.Progress = func(s string) { steps = append(steps, s) }
	first := mustBuild(t, b, dir, o)
	if first.Cached || len(steps) == 0 || !strings.HasPrefix(steps[len(steps)-1], "compile") {
		t.Fatalf("first build: cached %v after %q", first.Cached, steps)
	}
	steps = nil
	second := mustBuild(t, newBuilder(t), dir, o)
	if !second.Cached || len(steps) > 0 || second.SHA256 != first.SHA256 || second.Path != first.Path {
		t.Errorf("second build %+v after %q, want %+v from the cache", second, steps, first)
	}
	// The same scenario elsewhere results in the same program.
	other := mustBuild(t, b, files(t, map[string]string{"scenario.go": small + "\n// TestCache\n"}), o)
	if !other.Cached {
		t.Error("the same scenario in another directory was compiled again")
	}
	o.GOARCH = "arm64"
	if runtime.GOARCH == "arm64" {
		o.GOARCH = "amd64"
	}
	if stored(t, b, dir, o) {
		t.Error("another platform's executor was taken")
	}
	// A modified program is not returned.
	if err := os.Chmod(first.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(first.Path, 100); err != nil {
		t.Fatal(err)
	}
	o.GOARCH = ""
	third := mustBuild(t, b, dir, o)
	if third.Cached || third.SHA256 != first.SHA256 {
		t.Errorf("after damage: %+v, want a new build of %s", third, first.SHA256)
	}
	startsAsExecutor(t, third)
}

// Many concurrent builds, through two Builders on one new cache, compile once.
func TestConcurrentBuilds(t *testing.T) {
	t.Parallel()
	cache, dir := t.TempDir(), files(t, map[string]string{"scenario.go": small})
	fillCache(t)
	builders := []*Builder{newBuilderOf(t, testSDK(), cache), newBuilderOf(t, testSDK(), cache)}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var got []Executor
	compiled := 0
	for i := range 8 {
		wg.Go(func() {
			e, err := builders[i%2].Build(context.Background(), Source{Path: dir}, offline())
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
				return
			}
			got = append(got, e)
			if !e.Cached {
				compiled++
			}
		})
	}
	wg.Wait()
	if compiled != 1 || len(got) != 8 {
		t.Errorf("%d of %d builds compiled, want 1 of 8", compiled, len(got))
	}
	for _, e := range got {
		if e.SHA256 != got[0].SHA256 {
			t.Errorf("executors differ: %s and %s", e.SHA256, got[0].SHA256)
		}
	}
	left, err := os.ReadDir(filepath.Join(cache, "tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("tmp holds %v (%v)", left, err)
	}
}
