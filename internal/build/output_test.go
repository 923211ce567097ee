package build

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestOutput(t *testing.T) {
	t.Parallel()
	var steps []string
	o := &output{limit: 1000, progress: func(s string) { steps = append(steps, s) }}
	for _, part := range []string{"go: down", "loading a.b/c v1.0.0\n# scenario\n./x.go:1:2: bad", " thing\ngo: found a.b/c in a.b/c v1.0.0\n", "\x1b[31mred\x00\xff\u202e", "\r\n", "last"} {
		if n, err := o.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	text := o.result()
	if want := "./x.go:1:2: bad thing\n\\u001b[31mred\\u0000\\xff\\u202e\\u000d\nlast"; text != want {
		t.Errorf("text = %q, want %q", text, want)
	}
	if !slices.Equal(steps, []string{"downloading a.b/c v1.0.0"}) {
		t.Errorf("steps = %q", steps)
	}
}

// With -v the packages are passed to compiles and are not part of the compiler's text.
func TestOutputTellsPackages(t *testing.T) {
	t.Parallel()
	var packages []string
	o := &output{limit: 1000, progress: func(string) {}, compiles: func(s string) { packages = append(packages, s) }}
	_, _ = o.Write([]byte("internal/abi\ngolang.org/x/sys/unix\n# scenario\n./x.go:1:2: undefined: y\ngopkg.in/yaml.v3\n"))
	if text := o.result(); text != "./x.go:1:2: undefined: y" {
		t.Errorf("text = %q", text)
	}
	if want := []string{"internal/abi", "golang.org/x/sys/unix", "gopkg.in/yaml.v3"}; !slices.Equal(packages, want) {
		t.Errorf("packages %q, want %q", packages, want)
	}
}

// Whatever is printed, the text is at most limit bytes and ends at a character boundary.
func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, part string }{
		{"many lines", "./x.go:1:1: wrong\n"}, {"one line", "x"}, {"characters of 3 bytes", "界"}, {"escapes", "\x1b"}, {"broken", "\xe7\x95"}, {"newlines", "\n"},
	} {
		o := &output{limit: 64 << 10, progress: func(string) {}}
		for range 200_000 {
			_, _ = o.Write([]byte(tt.part))
		}
		text := o.result()
		if len(text) > o.limit || !utf8.ValidString(text) {
			t.Errorf("%s: %d bytes, valid %v", tt.name, len(text), utf8.ValidString(text))
		}
		if cap(o.line) > 4*o.limit || o.text.Cap() > 4*o.limit {
			t.Errorf("%s: holds %d and %d bytes", tt.name, cap(o.line), o.text.Cap())
		}
		if tt.name != "newlines" && !strings.HasSuffix(text, "\n(and more)") {
			t.Errorf("%s: does not say that there is more", tt.name)
		}
	}
}

func TestRename(t *testing.T) {
	t.Parallel()
	copied := map[string]bool{"load/a.go": true, "lib/b.go": true, "load/sub dir/c.go": true}
	for _, tt := range []struct{ display, in, want string }{
		{"load", "./a.go:1:2: x", "load/a.go:1:2: x"},
		{".", "./a.go:1:2: x\n\t./a.go:3:4: other", "a.go:1:2: x\n\ta.go:3:4: other"},
		{"/abs/load", "../lib/b.go:1:2: x", "/abs/lib/b.go:1:2: x"},
		{"load", "../lib/b.go:1:2: x", "lib/b.go:1:2: x"},
		{"load", "sub dir/c.go:1: x", "load/sub dir/c.go:1: x"},
		{"load", "/etc/shadow:1: x", "/etc/shadow:1: x"},
		{"load", "other.go:1: named by //line", "other.go:1: named by //line"},
		{"load", "go: cannot read /tmp/copy/load/x: /tmp/copy/go.mod", "go: cannot read load/x: go.mod"},
		{"load", "../../mod/a.b/c@v1.0.0/c.go:3:4: x", "a.b/c@v1.0.0/c.go:3:4: x"},
		{"load", "/etc/shadow.go:1: x\n../../etc/x.go:1: y", "/etc/shadow.go:1: x\n../../etc/x.go:1: y"},
		{"p/load", "in /tmp/copy/load and /tmp/copy/lib", "in p/load and p/lib"},
	} {
		got := rename(tt.in, "/tmp/copy", "load", tt.display, []string{"/tmp/mod"}, func(n string) bool { return copied[n] })
		if got != tt.want {
			t.Errorf("rename(%q) as %s = %q, want %q", tt.in, tt.display, got, tt.want)
		}
	}
}

func TestBytesText(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{1: "1 bytes", 64 << 10: "64 KiB", 2 << 30: "2 GiB", 3 << 19: "1.5 MiB"} {
		if got := bytesText(n); got != want {
			t.Errorf("bytesText(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestErrorTexts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&InputError{File: "go.mod", Line: 3, Field: "replace", Problem: "p", Fix: "f"}, "go.mod:3: replace: p; f"},
		{&InputError{File: "x", Problem: "p"}, "x: p"},
		{&CompileError{Text: "t"}, "t"},
		{&CompileError{Text: "t", Hint: "h"}, "t\nh"},
		{&LimitError{Resource: "time", Limit: "2m0s", Step: "compile"}, "build ended: it took more than its time limit of 2m0s (step: compile)"},
		{sizeLimit("memory", 2<<30), "build ended: it took more than its memory limit of 2 GiB"},
	} {
		if got := fmt.Sprint(tt.err); got != tt.want {
			t.Errorf("%#v says %q, want %q", tt.err, got, tt.want)
		}
	}
}
