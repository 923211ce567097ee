package client

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What a scenario embeds or names is sent along, and the file with export() is the scenario.
func TestReadSource(t *testing.T) {
	const export = "package main\n\nfunc export() {}\n"
	tree := map[string]string{"d/a.txt": "", "d/b/c.txt": "", "d/.hidden": "", "d/_no": "", "d/b/x.go": "package b", "e f.txt": "", "g.csv": "", "not.txt": ""}
	for _, tt := range []struct {
		name  string
		files map[string]string
		path  string // below the folder
		main  string
		also  []string // the other files
		fails string
	}{
		{"an embedded folder", map[string]string{"s.go": export + "//go:embed d"}, "s.go", "s.go", []string{"d/a.txt", "d/b/c.txt", "d/b/x.go"}, ""},
		{"with hidden files", map[string]string{"s.go": export + "//go:embed all:d"}, "s.go", "s.go", []string{"d/.hidden", "d/_no", "d/a.txt", "d/b/c.txt", "d/b/x.go"}, ""},
		{"patterns and strings", map[string]string{"s.go": export + "//go:embed\td/*.txt \"e f.txt\" `no such`\nvar x = \"g.csv\""}, "s.go", "s.go", []string{"d/a.txt", "e f.txt", "g.csv"}, ""},
		{"a pattern of another folder", map[string]string{"s.go": export, "p/p.go": "package p\n//go:embed q", "p/q/r/s.txt": ""}, "", "s.go", []string{"d/b/x.go", "p/p.go", "p/q/r/s.txt"}, ""},
		{"export in the second file", map[string]string{"a.go": "package main", "b.go": export}, "", "b.go", []string{"a.go", "d/b/x.go"}, ""},
		{"no export", map[string]string{"a.go": "package main", "b.go": "package main"}, "", "", nil, "no file there has a function export()"},
		{"export in another package only", map[string]string{"p/a.go": "package p\n\nfunc export() {}"}, "", "", nil, "no file there has a function export()"},
		{"no export, as a file does not parse", map[string]string{"a.go": "package main", "b.go": "package main\n\nfunc {"}, "", "b.go", []string{"a.go", "d/b/x.go"}, ""},
		{"a file without export", map[string]string{"a.go": "package main", "b.go": export}, "a.go", "a.go", nil, ""},
	} {
		dir := filepath.Join(t.TempDir(), "[x]") // no pattern
		for _, files := range []map[string]string{tree, tt.files} {
			for name, text := range files {
				name = filepath.Join(dir, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		_, s, err := ReadSource(filepath.Join(dir, tt.path))
		var also []string
		for _, f := range s.Files {
			also = append(also, f.Path)
		}
		if (err != nil) != (tt.fails != "") || err != nil && !strings.Contains(err.Error(), tt.fails) || s.File != tt.main || s.Scenario != tt.files[tt.main] || !slices.Equal(also, tt.also) {
			t.Errorf("%s: %q with %q, error %v; want %q with %q, error %q", tt.name, s.File, also, err, tt.main, tt.also, tt.fails)
		}
	}
}
