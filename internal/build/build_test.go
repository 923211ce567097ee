package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const scenarios = "../../testdata/scenario"

// The scenarios of the first article and the first README compile unchanged, and nothing in
// their directory changes.
func TestPublishedScenarios(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		dir, sha256 string
		notes       []string
	}{
		{"s0", "63a79c7207950d3da7e9e70283ace427d6e044a4ff151e7402dfd00bb30a1162",
			[]string{`scenario.go:8: import "github.com/gobench-io/gobench/clients/http" is not used: made blank`}},
		{"s2", "e39053331e48183e4a85bea79af2183c3bb62f2ebf325fc3fbefeb660d37520f", nil},
	} {
		t.Run(tt.dir, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(scenarios, tt.dir)
			text, err := os.ReadFile(filepath.Join(dir, "scenario.go"))
			if err != nil {
				t.Fatal(err)
			}
			if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != tt.sha256 {
				t.Errorf("the printed scenario was changed: sha256 %x", sum)
			}
			before := snapshot(t, dir)
			e, err := newBuilder(t).Build(context.Background(), Source{Path: filepath.Join(dir, "scenario.go"), As: "scenario.go"}, offline())
			if err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(before, snapshot(t, dir)) {
				t.Error("the tester's directory was changed")
			}
			if !slices.Equal(e.Notes, tt.notes) {
				t.Errorf("notes = %q, want %q", e.Notes, tt.notes)
			}
			startsAsExecutor(t, e)
		})
	}
}

// startsAsExecutor runs the program: without gobench, it prints what it is.
func startsAsExecutor(t *testing.T, e Executor) {
	t.Helper()
	cmd := exec.Command(e.Path)
	cmd.Env = []string{}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.Contains(string(out), "this is an executor") {
		t.Errorf("executor alone: %v, %q", err, out)
	}
	sum, size, err := digest(e.Path)
	if err != nil || sum != e.SHA256 || size != e.Size {
		t.Errorf("the program is %s of %d bytes (%v), Build said %s of %d", sum, size, err, e.SHA256, e.Size)
	}
	if mb := float64(e.Size) / 1e6; mb > 16 {
		t.Errorf("the executor has %.1f MB, want under 16", mb)
	}
}

// If a file is named, it is the package; if a directory is named, the directory is. A file
// named alone is compiled whatever its build constraint.
func TestFileOrDirectory(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	mustBuild(t, b, filepath.Join(scenarios, "bad", "sibling"), offline())
	dir := files(t, map[string]string{
		"scenario.go": "//go:build ignore\n\n" + small,
		"other.go":    small, // declares the same names
		"x_test.go":   "package main\n\nbroken",
	})
	mustBuild(t, b, filepath.Join(dir, "scenario.go"), offline())
	link := filepath.Join(t.TempDir(), "linked.go")
	if err := os.Symlink(filepath.Join(dir, "scenario.go"), link); err != nil {
		t.Fatal(err)
	}
	if e := mustBuild(t, b, link, offline()); !e.Cached {
		t.Error("a link to a scenario is another scenario")
	}
}

// An executor with the HTTP client stays small: it is sent to each agent, and starts often.
func TestExecutorSize(t *testing.T) {
	t.Parallel()
	e := mustBuild(t, newBuilder(t), filepath.Join(scenarios, "s2", "scenario.go"), offline())
	info, err := os.Stat(e.Path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.1f MB", float64(info.Size())/1e6)
	if info.Size() >= 16e6 {
		t.Errorf("the executor has %d bytes, and is to stay below 16 MB", info.Size())
	}
}

// A platform that go does not know is refused. TestCrossBuilds, in make test-long, builds
// for others; here only their keys are compared.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	b := newBuilderIn(t, t.TempDir()) // TestCrossBuilds fills the shared one
	s2 := filepath.Join(scenarios, "s2", "scenario.go")
	o := offline()
	mustBuild(t, b, s2, o)
	for _, platform := range []string{"linux/riscv64", "darwin/arm64", "windows/amd64"} {
		o.GOOS, o.GOARCH, _ = strings.Cut(platform, "/")
		if stored(t, b, s2, o) {
			t.Errorf("another platform's executor was taken for %s", platform)
		}
	}
	o.GOOS = "plan10"
	_, err := b.Build(context.Background(), Source{Path: s2}, o)
	checkRefusal(t, err, "*build.CompileError", []string{"plan10"})
}

// A build without a Person, with an empty module cache and no proxy, leaves nothing outside
// of its cache directory.
func TestNobodysBuild(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	b := newBuilderIn(t, cache)
	o := Options{Limits: Limits{Time: 5 * time.Minute}}
	// Only the go build cache is shared: filling one takes half a minute.
	if err := os.Symlink(goCache, filepath.Join(cache, "go-build")); err != nil {
		t.Fatal(err)
	}
	mustBuild(t, b, filepath.Join(scenarios, "s2"), o)
	if left, err := os.ReadDir(filepath.Join(cache, "mod", "cache", "download")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the module cache holds %v (%v)", left, err)
	}
	err := filepath.WalkDir(cache, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := d.Info(); err == nil && p != cache && filepath.Dir(p) == cache && d.IsDir() && !strings.HasPrefix(d.Name(), sdkPrefix) && info.Mode().Perm()&0o022 != 0 {
			t.Errorf("%s is open to others: %v", p, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
