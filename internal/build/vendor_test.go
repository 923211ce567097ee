package build

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A build without network uses the user's vendor directory.
func TestVendor(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{
		"go.mod": "module shop\n\ngo 1.26\n\nrequire (\n\texample.com/thing v1.0.0\n\texample.com/thing/sub v0.2.0\n\tgithub.com/gobench-io/gobench v0.1.0\n)\n\n" +
			"require example.com/deep v1.2.3 // indirect\n",
		"load/scenario.go": strings.Replace(small, "import (", "import (\n\t\"example.com/thing\"\n\t\"example.com/thing/sub/pkg\"", 1) + "\nvar _ = thing.Text + pkg.Text\n",
		"vendor/modules.txt": "# example.com/deep v1.2.3\n## explicit; go 1.20\nexample.com/deep/a\n" +
			"# example.com/thing v1.0.0\n## explicit\nexample.com/thing\n" +
			"# example.com/thing/sub v0.2.0\n## explicit; go 1.21\nexample.com/thing/sub/pkg\n" +
			"# github.com/gobench-io/gobench v0.1.0\n## explicit; go 1.20\ngithub.com/gobench-io/gobench/executor/scenario\n",
		"vendor/example.com/thing/thing.go":                           "package thing\n\nimport (\n\t_ \"embed\"\n\n\t\"example.com/deep/a\"\n)\n\n//go:embed text.txt\nvar Text string\n\nvar _ = a.Three()\n",
		"vendor/example.com/thing/text.txt":                           "x",
		"vendor/example.com/thing/c.go":                               "package thing\n\nimport \"C\"\n",
		"vendor/example.com/thing/sub/pkg/pkg.go":                     "package pkg\n\nconst Text = `y`\n",
		"vendor/example.com/deep/a/a.go":                              "package a\n\nfunc Three() int\n",
		"vendor/example.com/deep/a/a_amd64.s":                         "TEXT ·Three(SB), 4, $0-8\n\tMOVQ $3, ret+0(FP)\n\tRET\n",
		"vendor/example.com/deep/a/a_arm64.s":                         "TEXT ·Three(SB), 4, $0-8\n\tMOVD $3, R0\n\tMOVD R0, ret+0(FP)\n\tRET\n",
		"vendor/github.com/gobench-io/gobench/executor/scenario/s.go": "package scenario // an old one, not used\n",
	})
	before := snapshot(t, dir)
	b := newBuilder(t)
	scenario := filepath.Join(dir, "load", "scenario.go")
	e := mustBuild(t, b, scenario, offline())
	if !maps.Equal(before, snapshot(t, dir)) {
		t.Error("the tester's files were changed")
	}
	if len(e.Notes) > 0 {
		t.Errorf("notes = %q", e.Notes)
	}
	name := filepath.Join(dir, "vendor/example.com/thing/text.txt")
	if err := os.WriteFile(name, []byte("z"), 0o644); err != nil {
		t.Fatal(err)
	}
	if stored(t, b, scenario, offline()) {
		t.Error("a changed vendored file was not compiled")
	}
	if err := os.RemoveAll(filepath.Join(dir, "vendor", "example.com", "deep")); err != nil {
		t.Fatal(err)
	}
	_, err := b.Build(context.Background(), Source{Path: scenario, As: "load/scenario.go"}, offline())
	checkRefusal(t, err, "*build.CompileError", []string{"vendor/example.com/thing/thing.go:6:2: ", "example.com/deep/a"})
}
