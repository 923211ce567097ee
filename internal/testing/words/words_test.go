package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a/a.go", "package a\n\n// A gives one: it is kept\n// alive, and nobody\n// tells it apart. It tells\nfunc A() string { return \"gives\" }\n\nvar b = \"it gives all\"\n")
	write("a/a_test.go", "package a\n\nvar c = \"it gives all\"\n")
	write("b.md", "It\nis none.\n\n```\nnobody\n```\n`gives` and kept up.\n")
	write("testdata/c.md", "nobody")
	write("d.pb.go", "package d // gives\n")
	found, err := search(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range found {
		got = append(got, p.file+" "+p.phrase)
	}
	want := "a/a.go gives; a/a.go nobody; a/a.go tells; a/a.go gives; b.md is none"
	if s := strings.Join(got, "; "); s != want {
		t.Errorf("found %s\nwant  %s", s, want)
	}
	if len(found) == 5 && (found[1].line != 4 || found[3].line != 8 || found[4].line != 2) {
		t.Errorf("lines %d, %d and %d, want 4, 8 and 2", found[1].line, found[3].line, found[4].line)
	}
}

func TestAllowedNeedsReasons(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "allowed.txt")
	for _, tt := range []struct {
		text string
		ok   bool
	}{
		{"# a comment\n\na.go: nobody -- the account's name\n", true},
		{"a.go: nobody\n", false},
		{"a.go: nobody -- \n", false},
		{"Nobody.md: NoBody -- the account's name\n", true},
		{strings.Repeat("a.go: nobody -- the account's name\n", maxAllowed+1), false},
	} {
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		allowed, err := readAllowed(path)
		if (err == nil) != tt.ok {
			t.Errorf("%.40q: %v", tt.text, err)
		}
		if strings.HasPrefix(tt.text, "Nobody.md") && allowed["Nobody.md: nobody"] != 1 {
			t.Errorf("%.40q: %v", tt.text, allowed)
		}
	}
}
