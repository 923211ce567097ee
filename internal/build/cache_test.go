package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// An unpacked SDK that was damaged in any way is unpacked again.
func TestDamagedSDK(t *testing.T) {
	t.Parallel()
	b := newBuilderOf(t, smallSDK(t), t.TempDir())
	sdk, err := b.load()
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	unpack := func() string {
		t.Helper()
		steps = nil
		if err := b.prepareSDK(context.Background(), sdk, func(s string) { steps = append(steps, s) }); err != nil {
			t.Fatal(err)
		}
		return b.sdkPlace(sdk)
	}
	dir := unpack()
	if len(steps) != 1 {
		t.Fatalf("steps = %q, want one", steps)
	}
	name := filepath.Join(dir, "gobench", "executor", "executor.go")
	for _, tt := range []struct {
		name string
		harm func() error
	}{
		{"file gone", func() error { return os.Remove(name) }},
		{"file shorter", func() error { return os.Truncate(name, 10) }},
		{"file changed, same size", func() error {
			data, err := os.ReadFile(name)
			if err == nil {
				data[0] ^= 1
				err = errors.Join(os.Chmod(name, 0o600), os.WriteFile(name, data, 0o600))
			}
			return err
		}},
		{"file more", func() error { return os.WriteFile(filepath.Join(filepath.Dir(name), "more.go"), nil, 0o600) }},
		{"file replaced by a link", func() error { return errors.Join(os.Rename(name, name+"x"), os.Symlink(name+"x", name)) }},
		{"directory gone", func() error { return os.RemoveAll(filepath.Join(dir, "third_party")) }},
		{"manifest gone", func() error { return os.Remove(filepath.Join(dir, manifest)) }},
		{"manifest empty", func() error {
			return errors.Join(os.Chmod(filepath.Join(dir, manifest), 0o600), os.Truncate(filepath.Join(dir, manifest), 0))
		}},
		{"all gone", func() error { return os.RemoveAll(dir) }},
		{"a file in its place", func() error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)) }},
	} {
		if err := tt.harm(); err != nil {
			t.Fatal(tt.name, err)
		}
		unpack()
		if len(steps) != 1 {
			t.Errorf("%s: not unpacked again", tt.name)
		}
		if err := whole(dir); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if unpack(); len(steps) != 0 {
			t.Errorf("%s: unpacked twice", tt.name)
		}
	}
	if left, err := os.ReadDir(filepath.Join(b.dir, "tmp")); err != nil || len(left) > 0 {
		t.Errorf("tmp holds %v (%v)", left, err)
	}
}

// Tests and testdata are not part of the SDK: editing one changes no executor.
func TestSDKID(t *testing.T) {
	t.Parallel()
	sdk, err := loadSDK()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sdk.names {
		if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata") {
			t.Errorf("%s travels", name)
		}
	}
	for _, want := range []string{"clients/http/http.go", "executor/executor.go", "internal/wire/wire.pb.go"} {
		if _, ok := sdk.sources[want]; !ok {
			t.Errorf("%s is missing", want)
		}
	}
	if names := sdk.packages(); names[sdkPath+"/clients/http"] != "http" || names[sdkPath+"/internal/measure/meter"] != "" {
		t.Errorf("packages = %v", names)
	}
	if _, err := (SDK{Sources: treeSDK{os.DirFS("../..")}, Deps: nil}).load(); err == nil {
		t.Error("an SDK without an archive was taken")
	}
}

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
