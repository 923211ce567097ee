package blobs_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gobench-io/gobench/internal/agent/blobs"
)

// F19: a disk without room refuses, and says so.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Fatalf("mount a small disk (the test needs to be root): %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	c, err := blobs.Open(filepath.Join(dir, "blobs"), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	data, sum := random(1 << 20)
	if _, err := c.Get(t.Context(), sum, 1<<20, (&source{data: data}).fetch); !errors.Is(err, blobs.ErrSpace) {
		t.Errorf("error %v", err)
	}
}
