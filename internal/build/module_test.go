package build

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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
