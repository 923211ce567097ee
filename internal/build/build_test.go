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
	"runtime"
	"slices"
	"strings"
	"sync"
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

// A user's mistake is reported with their own file and line, in whichever directory it is.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const refused, fails = "*build.InputError", "*build.CompileError"
	for _, tt := range []struct {
		path, kind string
		want       []string
	}{
		{"syntax", fails, []string{"x/scenario.go:12:20: syntax error: unexpected {"}},
		{"type", fails, []string{"x/scenario.go:12:20: cannot use vui (variable of type int) as string value in variable declaration"}},
		{"unused", fails, []string{"x/scenario.go:12:2: declared and not used: name"}},
		{"undefined", fails, []string{"x/scenario.go:11:43: undefined: helper"}},
		{"signature", fails, []string{"x/scenario.go:5:6: cannot use export() (value of type []func(context.Context, int)) as scenario.Vus value"}},
		{"module", fails, []string{"x/scenario.go:8:2: ", "example.com/nowhere/thing", "this build fetches no modules"}},
		{"line", fails, []string{"/etc/shadow:1: undefined: helper"}},
		{"sibling/scenario.go", fails, []string{"x/scenario.go:11:43: undefined: helper", "helper is declared in helper.go, but only scenario.go was compiled"}},

		{"noexport", refused, []string{"x/scenario.go: no func export; a scenario has: func export() scenario.Vus"}},
		{"hasmain", refused, []string{"x/scenario.go:13: func main is written by gobench; remove it"}},
		{"package", refused, []string{"x/scenario.go:1: package load is not a scenario; a scenario begins with: package main"}},
		{"cgo", refused, []string{`x/scenario.go:4: import "C": cgo is off`}},
		{"assembly", refused, []string{"x/add_amd64.s: language: C, assembly and object files are not built"}},
		{"nowhere", refused, []string{"x: no such file or directory"}},
		{"line/../../s0/nowhere.go", refused, []string{"x/nowhere.go: no such file"}},
		{"../../../README.md", refused, []string{"x/README.md: not a Go file; a scenario ends in .go"}},
		{"../../../embed_test.go", refused, []string{"x/embed_test.go: a test file is not a scenario"}},
		{"../../../docs", refused, []string{"x: no Go files in this directory"}},
	} {
		t.Run(tt.path, func(t *testing.T) {
			t.Parallel()
			as := "x"
			if strings.Contains(filepath.Base(tt.path), ".") {
				as = "x/" + filepath.Base(tt.path)
			}
			_, err := newBuilder(t).Build(context.Background(), Source{Path: filepath.Join(scenarios, "bad", tt.path), As: as}, offline())
			checkRefusal(t, err, tt.kind, tt.want)
		})
	}
}

func checkRefusal(t *testing.T, err error, kind string, want []string) {
	t.Helper()
	var in *InputError
	var compile *CompileError
	got := "neither"
	switch {
	case errors.As(err, &in):
		got = "*build.InputError"
	case errors.As(err, &compile):
		got = "*build.CompileError"
	}
	if got != kind {
		t.Fatalf("error is %s (%v), want %s", got, err, kind)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error\n%s\ndoes not say\n%s", err, w)
		}
	}
	if strings.Contains(err.Error(), shared) || kind == "*build.CompileError" && strings.Contains(err.Error(), mainFile) {
		t.Errorf("error names gobench's own files:\n%s", err)
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

func TestOwnPackages(t *testing.T) {
	t.Parallel()
	const goMod = "module example.com/shop // mine\n\ngo 1.24\n\nrequire (\n\tgithub.com/gobench-io/gobench/v2 v2.1.0\n\texample.com/lib v1.0.0\n)\n\n" +
		"replace example.com/lib => ./lib\n"
	dir := files(t, map[string]string{
		"go.mod":           goMod,
		"go.sum":           "",
		".git/HEAD":        "ref: refs/heads/main\n",
		"load/scenario.go": strings.Replace(small, "import (", "import (\n\t_ \"example.com/lib/deep\"\n\t\"example.com/shop/cart\"\n\t\"example.com/shop/version\"\n", 1) + "\nvar _ = cart.Text + v.V\n",
		"cart/cart.go": "package cart\n\nimport (\n\t\"embed\"\n\t\"os\"\n\n\t\"github.com/gobench-io/gobench/v2/dis\"\n)\n\n//go:embed data \"a b.txt\"\nvar files embed.FS\n\n" +
			"//go:embed data/one.txt\nvar Text string\n\nvar _ = dis.RandomString\nvar _ = files\n",
		"cart/data/one.txt": "1",
		"cart/data/.hidden": "not embedded",
		"cart/a b.txt":      "2",
		"cart/cart_test.go": "package cart\n\nbroken",
		"version/v.go":      "package v\n\nconst V = `3`\n",
		"lib/go.mod":        "module example.com/lib\n",
		"lib/deep/deep.go":  "package deep\n",
		"unrelated/x.go":    "package broken(",
	})
	before := snapshot(t, dir)
	b := newBuilder(t)
	scenario := filepath.Join(dir, "load", "scenario.go")
	build := func() Executor {
		t.Helper()
		e, err := b.Build(context.Background(), Source{Path: scenario, As: "load/scenario.go"}, offline())
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	first := build()
	if !maps.Equal(before, snapshot(t, dir)) {
		t.Error("the tester's files were changed")
	}
	for _, w := range []string{
		`cart/cart.go:5: import "os" is not used: made blank`,
		`cart/cart.go:7: import "github.com/gobench-io/gobench/v2/dis" is read as "github.com/gobench-io/gobench/dis"`,
		"go.mod: go 1.24 is built as go 1.26.0, which gobench's packages need",
	} {
		if !slices.Contains(first.Notes, w) {
			t.Errorf("notes %q lack %q", first.Notes, w)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// Every file that goes into the program is part of its key, and no other file.
	for _, tt := range []struct {
		name, text string
		cached     bool
	}{
		{"unrelated/x.go", "package other\n", true},
		{"cart/cart_test.go", "package cart\n", true},
		{"cart/data/.hidden", "x", true},
		{"cart/data/one.txt", "one", false},
		{"version/v.go", "package v\n\nconst V = `4`\n", false},
		{"lib/deep/deep.go", "package deep\n\nconst X = 1\n", false},
		{"go.mod", goMod + "\nexclude example.com/x v1.0.0\n", false},
	} {
		write(tt.name, tt.text)
		if is := stored(t, b, scenario, offline()); is != tt.cached {
			t.Errorf("after a change of %s: cached = %v, want %v", tt.name, is, tt.cached)
		}
	}
	build()
	write("go.mod", strings.Replace(goMod, "go 1.24", "go 1.25", 1)+"\nexclude example.com/x v1.0.0\n")
	if e := build(); !e.Cached {
		t.Error("go 1.24 and go 1.25, which are both built as 1.26, have two executors")
	}
}

// Files of a user's module that refer to something outside of it are refused before go
// runs.
func TestEscapes(t *testing.T) {
	t.Parallel()
	outside := files(t, map[string]string{"secret.txt": "s", "lib/lib.go": "package lib\n", "lib/go.mod": "module example.com/lib\n"})
	withEmbed := func(pattern string) string {
		return strings.Replace(small, "import (", "import (\n\t_ \"embed\"", 1) + "\n//go:embed " + pattern + "\nvar data string\n"
	}
	const refused, fails = "*build.InputError", "*build.CompileError"
	for _, tt := range []struct {
		name  string
		files map[string]string
		links map[string]string
		kind  string
		want  string
	}{
		{"embed upwards", map[string]string{"scenario.go": withEmbed("../secret.txt")}, nil, fails, "invalid pattern syntax"},
		{"embed absolute", map[string]string{"scenario.go": withEmbed("/etc/passwd")}, nil, fails, "invalid pattern syntax"},
		{"embed a link", map[string]string{"scenario.go": withEmbed("l.txt"), "f.txt": ""}, map[string]string{"l.txt": "f.txt"}, refused, "x/scenario.go:14: go:embed: x/l.txt is a link"},
		{"embed a directory with a link", map[string]string{"scenario.go": withEmbed("d"), "d/f.txt": ""}, map[string]string{"d/l.txt": "f.txt"}, refused, "x/scenario.go:14: go:embed: x/d/l.txt is not a regular file"},
		{"embed a link to outside", map[string]string{"scenario.go": withEmbed("secret.txt")}, map[string]string{"secret.txt": filepath.Join(outside, "secret.txt")}, fails, "no matching files found"},
		{"embed through a link to outside", map[string]string{"scenario.go": withEmbed("d/secret.txt")}, map[string]string{"d": outside}, fails, "no matching files found"},
		{"a linked Go file", map[string]string{"scenario.go": small}, map[string]string{"b.go": filepath.Join(outside, "lib", "lib.go")}, refused, "x/b.go: cannot be read: path escapes"},
		{"a linked package", map[string]string{"go.mod": "module m\n", "scenario.go": strings.Replace(small, "import (", "import (\n\t_ \"m/lib\"", 1)}, map[string]string{"lib": filepath.Join(outside, "lib")}, fails, "m/lib"},
		{"a linked replacement", map[string]string{"go.mod": "module m\n\nreplace example.com/lib => ./lib\n", "scenario.go": small}, map[string]string{"lib": filepath.Join(outside, "lib")}, refused, "x/lib/go.mod: cannot be read: path escapes"},
		{"a linked go.mod", map[string]string{"scenario.go": small}, map[string]string{"go.mod": filepath.Join(outside, "lib", "go.mod")}, refused, "x/go.mod: cannot be read"},
		{"replace upwards", map[string]string{"go.mod": "module m\n\nreplace a.b/c => ../c\n", "scenario.go": small}, nil, refused, "x/go.mod:3: replace: ../c is outside"},
		{"replace nowhere", map[string]string{"go.mod": "module m\n\nreplace a.b/c => ./c\n", "scenario.go": small}, nil, refused, "x/go.mod:3: replace: ./c has no go.mod"},
		{"gobench's own path", map[string]string{"go.mod": "module github.com/gobench-io/gobench\n", "scenario.go": small}, nil, refused, "x/go.mod:1: module:"},
		{"gobench's internals", map[string]string{"scenario.go": strings.Replace(small, "import (", "import (\n\t_ \"github.com/gobench-io/gobench/internal/measure/meter\"", 1)}, nil, fails, "use of internal package"},
		{"a file of ours", map[string]string{"scenario.go": small, mainFile: "package main\n"}, nil, refused, "gobench writes a file of this name"},
		{"a huge file", map[string]string{"scenario.go": small + strings.Repeat("//\n", 200_000)}, nil, refused, "x/scenario.go: size: 600"},
		{"a huge go.sum", map[string]string{"go.mod": "module m\n", "go.sum": strings.Repeat("x", 1<<20+1), "scenario.go": small}, nil, refused, "x/go.sum: size: 1048577 bytes, more than 1 MiB"},
		{"a directory for a file", map[string]string{"go.mod/x": "", "scenario.go": small}, nil, refused, "x/go.mod: not a regular file"},
		{"terminal escapes", map[string]string{"scenario.go": small + "\n//line \x1b[31m.go:7\nvar x int = `\x1b]0;title\x07`\n"}, nil, fails, `\u001b`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := files(t, tt.files)
			for name, target := range tt.links {
				if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			_, err := newBuilder(t).Build(context.Background(), Source{Path: dir, As: "x"}, offline())
			checkRefusal(t, err, tt.kind, []string{tt.want})
			if err != nil && strings.ContainsAny(err.Error(), "\x1b\x07") {
				t.Errorf("error holds an escape: %q", err)
			}
		})
	}
}

// A FIFO in the directory is refused, not waited for.
func TestSpecialFile(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"scenario.go": small})
	if err := exec.Command("mkfifo", filepath.Join(dir, "pipe.go")).Run(); err != nil {
		t.Fatal(err)
	}
	_, err := newBuilder(t).Build(context.Background(), Source{Path: dir, As: "x"}, offline())
	checkRefusal(t, err, "*build.InputError", []string{"x/pipe.go: not a regular file"})
}

// A scenario that needs only gobench does not use the go.mod of the repository that
// contains it; one that imports from it does.
func TestModuleAbove(t *testing.T) {
	t.Parallel()
	needing := strings.Replace(small, "import (", "import (\n\t_ \"shop/lib\"", 1)
	dir := files(t, map[string]string{
		"go.mod": "module shop\n\ntoolchain go1.99.0\n", ".git/HEAD": "", "lib/lib.go": "package lib\n",
		"load/a/scenario.go": small, "load/b/scenario.go": needing,
		"load/.git/HEAD": "", // a repository of its own
	})
	b := newBuilder(t)
	mustBuild(t, b, filepath.Join(dir, "load", "a"), offline())
	_, err := b.Build(context.Background(), Source{Path: filepath.Join(dir, "load", "b"), As: "b"}, offline())
	checkRefusal(t, err, "*build.CompileError", []string{"shop/lib"})
	if err := os.RemoveAll(filepath.Join(dir, "load", ".git")); err != nil {
		t.Fatal(err)
	}
	_, err = b.Build(context.Background(), Source{Path: filepath.Join(dir, "load", "b"), As: "load/b"}, offline())
	checkRefusal(t, err, "*build.InputError", []string{"go.mod:3: toolchain: "})
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module shop\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	mustBuild(t, b, filepath.Join(dir, "load", "b"), offline())
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
