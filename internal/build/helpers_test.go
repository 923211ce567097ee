package build

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/mod/modfile"

	"github.com/gobench-io/gobench/internal/testing/long"
)

// shared is a cache that tests may fill together: it unpacks the SDK and runs go version
// only once.
var shared string

// goCache is the go build cache of the user who runs the tests, so that only the first run
// compiles the SDK.
var goCache, goRoot string

func TestMain(m *testing.M) {
	if mode := os.Getenv(childEnv); mode != "" {
		childMain(mode)
	}
	os.Exit(func() int {
		out, err := exec.Command("go", "env", "GOCACHE", "GOROOT").Output()
		if err != nil {
			fmt.Fprintln(os.Stderr, "go env:", err)
			return 1
		}
		goCache, goRoot, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
		if shared, err = os.MkdirTemp("", "gobench-build-test-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(shared) }()
		return m.Run()
	}())
}

// sdkDirs are the directories that embed.go embeds; the root package's test compares that
// list with what packages import.
var sdkDirs = func() []string {
	source, err := os.ReadFile(filepath.Join("..", "..", "embed.go"))
	if err != nil {
		panic(err)
	}
	_, list, _ := strings.Cut(string(source), "//go:embed ")
	list, _, _ = strings.Cut(list, "\n")
	return strings.Fields(list)
}()

// treeSDK is the SDK of the working tree.
type treeSDK struct{ fs.FS }

// ReadDir hides what is not part of the SDK.
func (t treeSDK) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(t.FS, name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		p := strings.TrimPrefix(name+"/"+e.Name(), "./")
		return !slices.ContainsFunc(sdkDirs, func(d string) bool {
			match, err := path.Match(d, p) // as internal/wire/*.go
			return err == nil && match || strings.HasPrefix(p, d+"/") || strings.HasPrefix(d, p+"/")
		})
	}), err
}

func testSDK() SDK { return NewSDK(treeSDK{os.DirFS(filepath.Join("..", ".."))}) }

// newBuilder returns a Builder on the shared cache.
func newBuilder(t testing.TB) *Builder { return newBuilderIn(t, shared) }

// newBuilderIn returns a Builder with its own cache, except for the unpacked SDK: writing
// its thousand files takes longer than most builds.
func newBuilderIn(t testing.TB, dir string) *Builder {
	t.Helper()
	fillCache(t)
	b := newBuilderOf(t, SDK{}, dir)
	b.load, b.sdks = loadSDK, shared
	return b
}

// newBuilderOf returns a Builder of an SDK with a cache that it shares with no other.
func newBuilderOf(t testing.TB, sdk SDK, dir string) *Builder {
	t.Helper()
	b, err := New(sdk, dir, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// loadSDK reads the SDK of the working tree, once for all tests.
var loadSDK = sync.OnceValues(testSDK().load)

// smallSDK has a few of the SDK's files and the go.mod of each of its modules.
func smallSDK(t testing.TB) SDK {
	t.Helper()
	sources := fstest.MapFS{"executor/executor_test.go": {Data: []byte("package executor\n")}}
	for _, name := range []string{"clients/http/http.go", "executor/executor.go", "executor/metrics/metrics.go"} {
		data, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		sources[name] = &fstest.MapFile{Data: data}
	}
	var out bytes.Buffer
	zw := gzip.NewWriter(&out)
	tw, n := tar.NewWriter(zw), 0
	err := eachDep(deps, func(name string, r io.Reader) error {
		if n++; path.Base(name) != "go.mod" && n%100 != 0 {
			return nil
		}
		data, err := io.ReadAll(r)
		if err == nil {
			err = tw.WriteHeader(&tar.Header{Name: name, Mode: 0o444, Size: int64(len(data))})
		}
		if err == nil {
			_, err = tw.Write(data)
		}
		return err
	})
	if err := errors.Join(err, tw.Close(), zw.Close()); err != nil {
		t.Fatal(err)
	}
	return SDK{Sources: sources, Deps: out.Bytes()}
}

// stored reports whether a build finds its executor in the store. Unless in make test-long,
// it ends a build that does not before it compiles.
func stored(t testing.TB, b *Builder, path string, o Options) bool {
	t.Helper()
	if long.Run {
		return mustBuild(t, b, path, o).Cached
	}
	compiles := errors.New("not in the store")
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	o.Progress = func(step string) {
		if strings.HasPrefix(step, "compile") {
			cancel(compiles)
		}
	}
	e, err := b.Build(ctx, Source{Path: path}, o)
	if err != nil && !errors.Is(err, compiles) {
		t.Fatalf("build %s: %v", path, err)
	}
	return err == nil && e.Cached
}

var filled sync.Once

// fillCache compiles the SDK once before the first test that builds, so that no
// test's limits have to cover that.
func fillCache(t testing.TB) {
	t.Helper()
	filled.Do(func() {
		b, err := New(testSDK(), shared, slog.New(slog.NewTextHandler(io.Discard, nil)))
		if err == nil {
			_, err = b.Build(context.Background(), Source{Path: filepath.Join(scenarios, "s2")}, offline())
		}
		if err != nil {
			t.Error("fill the build cache:", err)
		}
	})
}

// offline builds without any network and with no module cache, but with the go build cache
// of the user who runs the tests.
func offline() Options {
	return Options{Person: &Person{Vars: map[string]string{"GOPROXY": "off"}, GoCache: goCache}, Limits: Limits{Time: 5 * time.Minute}}
}

// files writes the files of one test, by name below a new directory.
func files(t testing.TB, content map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range content {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// mustBuild builds, and fails the test on an error.
func mustBuild(t testing.TB, b *Builder, path string, o Options) Executor {
	t.Helper()
	e, err := b.Build(context.Background(), Source{Path: path}, o)
	if err != nil {
		t.Fatalf("build %s: %v", path, err)
	}
	return e
}

// snapshot reads every file below dir, with its time.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := []byte{}
		if d.Type().IsRegular() {
			if text, err = os.ReadFile(p); err != nil {
				return err
			}
		}
		got[p] = fmt.Sprint(info.Mode(), info.ModTime().UnixNano(), " ", string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// small is a scenario that compiles fast.
const small = `package main

import (
	"context"

	"github.com/gobench-io/gobench/executor/scenario"
)

func export() scenario.Vus { return scenario.Vus{{Nu: 1, Fu: user}} }

func user(ctx context.Context, vui int) {}
`

func itoa(n int) string { return fmt.Sprint(n) }

func checkModText(data []byte) (*modfile.File, error) { return modfile.Parse("go.mod", data, nil) }
