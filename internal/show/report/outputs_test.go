package report

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// WriteFile follows symbolic links, also one to a file that does not exist yet, and leaves a
// file as it is when it fails.
func TestWriteFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.Symlink("file", link); err != nil {
		t.Skip(err) // on Windows only some users may
	}
	broken := errors.New("broken")
	for _, tt := range []struct {
		text string
		err  error
		want string
	}{{"first", nil, "first"}, {"2nd", nil, "2nd"}, {"3rd", broken, "2nd"}} {
		err := WriteFile(link, func(w io.Writer) error {
			_, err := io.WriteString(w, tt.text)
			return errors.Join(err, tt.err)
		})
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: error %v, want %v", tt.text, err, tt.err)
		}
		if b, err := os.ReadFile(file); err != nil || string(b) != tt.want {
			t.Errorf("after %s the file has %q, %v, want %q", tt.text, b, err, tt.want)
		}
	}
	if to, err := os.Readlink(link); err != nil || to != "file" {
		t.Errorf("the link is to %q, %v", to, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("the folder has %v, %v", left, err)
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(loop, func(io.Writer) error { return nil }); err == nil {
		t.Error("a link to itself is written to")
	}
}
