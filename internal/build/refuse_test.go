package build

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

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
