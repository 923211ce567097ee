package build

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestCheckMod(t *testing.T) {
	t.Parallel()
	many := func(format string, n int) string {
		var b strings.Builder
		b.WriteString("module m\n\ngo 1.26\n\n")
		for i := range n {
			fmt.Fprintf(&b, format+"\n", i)
		}
		return b.String()
	}
	for _, tt := range []struct {
		name, text  string
		line        int
		field, want string // "" is accepted
	}{
		{"plain", "module m\n\ngo 1.26\n\nrequire github.com/google/uuid v1.6.0\n", 0, "", ""},
		{"no go line", "module m\n", 0, "", ""},
		{"own sub-module", "module m\n\nreplace example.com/lib => ./lib\n", 0, "", ""},
		{"fork of a dependency", "module m\n\nreplace example.com/a => example.com/b v1.2.3\n", 0, "", ""},
		{"a place for the SDK is not used", "module m\n\nreplace github.com/gobench-io/gobench => ../gobench\n", 0, "", ""},
		{"older go", "module m\n\ngo 1.13\n", 0, "", ""},
		{"same go", "module m\n\ngo 1.26.8\n", 0, "", ""},
		{"exclude", "module m\n\nexclude example.com/a v1.2.3\n", 0, "", ""},

		{"parent", "module m\n\nreplace example.com/lib => ../lib\n", 3, "replace", "outside"},
		{"parent by a detour", "module m\n\nreplace example.com/lib => ./a/../../lib\n", 3, "replace", "outside"},
		{"absolute", "module m\n\nreplace (\n\texample.com/a => ./a\n\texample.com/lib => /etc\n)\n", 5, "replace", "outside"},
		{"windows drive", "module m\nreplace example.com/lib => C:\\lib\n", 2, "go.mod", "Windows path"},
		{"windows parent", "module m\nreplace example.com/lib => ..\\lib\n", 2, "go.mod", "Windows path"},
		{"the module itself", "module m\nreplace example.com/lib => ./\n", 2, "replace", "outside"},
		{"toolchain", "module m\n\ngo 1.26\n\ntoolchain go1.27.0\n", 5, "toolchain", "remove"},
		{"newer go", "module m\n\ngo 1.99\n", 3, "go", "newer"},
		{"newer patch", "module m\n\ngo 1.26.9\n", 3, "go", "newer"},
		{"tool", "module m\n\ngo 1.26\n\ntool example.com/cmd/x\n", 5, "tool", "remove"},
		{"SDK's path", "module github.com/gobench-io/gobench\n", 1, "module", "own name"},
		{"below SDK's path", "// mine\nmodule github.com/gobench-io/gobench/internal/x\n", 2, "module", "own name"},
		{"no module", "go 1.26\n", 0, "module", "no module line"},
		{"empty", "", 0, "module", "no module line"},
		{"1000 requires", many("require example.com/m%d v1.0.0", 1000), 0, "", ""},
		{"1001 requires", many("require example.com/m%d v1.0.0", 1001), 1005, "require", "1001 lines"},
		{"1001 excludes", many("exclude example.com/m%d v1.0.0", 1001), 1005, "exclude", "1001 lines"},
		{"1001 replaces", many("replace a.b/m%d => a.b/x v1.0.0", 1001), 1005, "replace", "1001 lines"},
		{"10000 requires", many("require example.com/m%d v1.0.0", 10000), 0, "size", "64 KiB"},
		{"unknown word", "module m\n\nfrobnicate x\n", 3, "", "frobnicate"},
		{"bad version", "module m\n\nrequire example.com/a latest\n", 3, "", "latest"},
		{"unclosed", "module m\n\nrequire (\n", 4, "", ""},
		{"two modules", "module m\nmodule n\n", 2, "", "repeated module"},
		{"escape in an error", "module m\n\x1b[31m x\n", 2, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := CheckMod("app/go.mod", []byte(tt.text), "go1.26.8")
			accepted := tt.field == "" && tt.want == "" && tt.line == 0
			if accepted {
				if err != nil {
					t.Fatal("refused:", err)
				}
				return
			}
			var in *InputError
			if !errors.As(err, &in) {
				t.Fatalf("error = %v, want an *InputError", err)
			}
			if in.File != "app/go.mod" || in.Line != tt.line || in.Fix == "" {
				t.Errorf("%+v, want line %d and a fix", *in, tt.line)
			}
			if tt.field != "" && in.Field != tt.field {
				t.Errorf("field = %q, want %q", in.Field, tt.field)
			}
			if !strings.Contains(in.Error(), tt.want) {
				t.Errorf("error %q does not say %q", in, tt.want)
			}
			if tt.line > 0 && !strings.HasPrefix(in.Error(), fmt.Sprintf("app/go.mod:%d: ", tt.line)) {
				t.Errorf("error %q does not begin with file and line", in)
			}
			if strings.ContainsRune(in.Error(), 0x1b) {
				t.Errorf("error holds an escape: %q", in)
			}
		})
	}
}

// A go.mod that CheckMod accepts has nothing that it is to refuse, and the copy's go.mod
// made of it can be parsed.
func FuzzCheckMod(f *testing.F) {
	for _, s := range []string{
		"module m\n\ngo 1.26\n\nrequire github.com/google/uuid v1.6.0\n",
		"module m\nreplace a.b/c => ../x\n", "module m\ntoolchain go1.99\n", "module m\ntool a.b/c\n",
		"module \"m\"\nrequire (\n\ta.b/c v1.0.0 // indirect\n)\nexclude a.b/c v1.0.1\nreplace a.b/c v1.0.0 => ./c\n",
		"module m\nrequire github.com/gobench-io/gobench v0.1.0\nrequire github.com/gobench-io/gobench/v2 v2.0.0\nreplace github.com/gobench-io/gobench => /x\n",
		"module m\ngodebug default=go1.21\nretract v1.0.0\nignore ./x\n",
	} {
		f.Add([]byte(s))
	}
	sdk, err := loadSDK()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		mod, err := checkMod("go.mod", data, "go1.26.8")
		if err != nil {
			var in *InputError
			if !errors.As(err, &in) || in.Problem == "" {
				t.Fatalf("refused by %T: %v", err, err)
			}
			return
		}
		for _, r := range mod.Replace {
			if p := r.New.Path; r.New.Version == "" && !isSDK(r.Old.Path) && (strings.HasPrefix(p, "/") || strings.HasPrefix(p, "..")) {
				t.Fatalf("passed a replace by %q", p)
			}
		}
		if mod.Toolchain != nil || len(mod.Tool) > 0 {
			t.Fatal("passed a toolchain or a tool")
		}
		out, _, err := completeMod(mod, sdk.mod, nil, "/cache/sdk-1", "go.mod")
		if err != nil {
			return // the go command would refuse it too
		}
		full, err := checkModText(out)
		if err != nil {
			t.Fatalf("%v in the completed\n%s", err, out)
		}
		found := false
		for _, r := range full.Replace {
			if isSDK(r.Old.Path) && r.New.Path != "/cache/sdk-1/gobench" {
				t.Fatalf("the SDK is replaced by %q", r.New.Path)
			}
			found = found || r.Old.Path == sdkPath && r.Old.Version == ""
		}
		if !found {
			t.Fatalf("the SDK is not replaced:\n%s", out)
		}
	})
}
