package system

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Replace leaves the new file or, after an error, the old one, and nothing else.
func TestReplace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path+".new", []byte("left by a crash, and long"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := func(text string) {
		t.Helper()
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("the file has %q, %v, want %q", b, err, text)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("the folder has %v, %v", left, err)
		}
	}
	for _, text := range []string{"first", "2nd"} {
		if err := ReplaceBytes(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		want(text)
	}
	broken := errors.New("broken")
	err := Replace(path, func(w io.Writer) error {
		_, err := io.WriteString(w, "a part")
		return errors.Join(err, broken)
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	want("2nd")
	if err := ReplaceBytes(filepath.Join(dir, "missing", "file"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in no folder: %v", err)
	}
}
