//go:build linux

package sandbox_test

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/gobench-io/gobench/internal/agent/sandbox"
)

// What is noted of a box before it is made is enough to delete it in another life, however
// much of it there is; a note that can't be taken makes no box.
func TestNote(t *testing.T) {
	t.Parallel()
	work, err := os.MkdirTemp("/tmp", "note-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(work)
	left := func() []os.DirEntry {
		t.Helper()
		all, err := os.ReadDir(work)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	for _, refused := range []bool{true, false} {
		var noted sandbox.State
		b, err := sandbox.New(sandbox.Options{Work: work, Memory: 64 << 20, Note: func(s sandbox.State) error {
			if noted = s; len(left()) > 0 {
				t.Errorf("%v is there before it is noted", left())
			}
			if refused {
				return os.ErrDeadlineExceeded
			}
			return nil
		}})
		if refused {
			if !errors.Is(err, os.ErrDeadlineExceeded) || len(left()) > 0 {
				t.Errorf("refused: %v, %v is left", err, left())
			}
		} else if err != nil || b.Folder != noted.Folder || b.Mark != noted.Mark || b.UID != noted.UID || len(b.Cgroups) > len(noted.Cgroups) {
			t.Errorf("noted is %+v, made %+v, %v", noted, b, err)
		} else {
			for _, dir := range b.Cgroups {
				if !slices.Contains(noted.Cgroups, dir) {
					t.Errorf("control group %s is not noted", dir)
				}
			}
		}
		if err := sandbox.Open(noted).Close(); err != nil {
			t.Errorf("refused %v: %v", refused, err)
		}
		for _, dir := range append(noted.Cgroups, noted.Folder) {
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("refused %v: %s is left: %v", refused, dir, err)
			}
		}
	}
}
