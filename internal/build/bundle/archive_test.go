package main

import (
	"bytes"
	"maps"
	"testing"
)

// An archive of the same files has the same bytes, and unpacking it returns the files.
func TestArchive(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{"gobench/go.mod": []byte("module m\n"), "third_party/a@v1.0.0/a.go": []byte("package a\n"), "third_party/b@v1.0.0/empty": {}}
	first, err := pack(files)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		again, err := pack(maps.Clone(files))
		if err != nil || !bytes.Equal(first, again) {
			t.Fatalf("the same files were packed otherwise (%v)", err)
		}
	}
	got, err := unpack(bytes.NewReader(first))
	if err != nil {
		t.Fatal(err)
	}
	if diff := compare(got, files); diff != "" {
		t.Error("unpacked:", diff)
	}
	if _, err := unpack(bytes.NewReader(first[:len(first)/2])); err == nil {
		t.Error("half an archive was taken")
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	old := map[string][]byte{"a": []byte("1"), "b": []byte("1")}
	for _, tt := range []struct {
		want string
		now  map[string][]byte
	}{
		{"", map[string][]byte{"a": []byte("1"), "b": []byte("1")}},
		{"changed b", map[string][]byte{"a": []byte("1"), "b": []byte("2")}},
		{"gone b", map[string][]byte{"a": []byte("1")}},
		{"new c", map[string][]byte{"a": []byte("1"), "b": []byte("1"), "c": nil}},
		{"changed a and 1 more", map[string][]byte{"a": []byte("2")}},
	} {
		if got := compare(old, tt.now); got != tt.want {
			t.Errorf("compare = %q, want %q", got, tt.want)
		}
	}
}

func TestNeeded(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"a/x.go": true, "a/x.s": true, "a/LICENSE": true, "a/LICENSE.md": true, "a/NOTICE.txt": true, "a/table.binpb": true,
		"a/README.md": false, "a/x.proto": false, "a/Makefile": false, "a/.gitignore": false,
	} {
		if needed(name) != want {
			t.Errorf("needed(%q) = %v, want %v", name, !want, want)
		}
	}
}
