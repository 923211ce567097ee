package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder that is in use, and one that cannot be locked, are different errors.
func TestLock(t *testing.T) {
	t.Parallel()
	open := func() *os.File {
		f, err := os.OpenFile(filepath.Join(t.TempDir(), "lock"), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	first := open()
	if err := lock(first); err != nil {
		t.Error(err)
	}
	second, err := os.OpenFile(first.Name(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if err := lock(second); err == nil || !strings.Contains(err.Error(), "another agent (process ") {
		t.Errorf("in use: %v", err)
	}
	none := open()
	none.Close() // as a file system without locks
	if err := lock(none); !errors.Is(err, os.ErrClosed) && (err == nil || strings.Contains(err.Error(), "another agent")) {
		t.Errorf("without locks: %v", err)
	}
}
