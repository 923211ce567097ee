package spool_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/agent/spool"
)

// F19: a full disk. Records stay in memory up to the bound, are refused beyond it but
// for a last word, and go to the disk when it has room again, at the latest when the spool
// is closed.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	for name, retry := range map[string]time.Duration{"while it is open": 50 * time.Millisecond, "when it is closed": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fill(t, retry)
		})
	}
}

// fill fills the disk of a spool that tries it again after a time.
func fill(t *testing.T, retry time.Duration) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatalf("mount a small disk (the test needs to be root): %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }) // also while the kernel is busy with it
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 128<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "spool")
	s := open(t, at, spool.Options{Memory: 64 << 10, Segment: 32 << 10, Retry: retry})
	var err error
	for err == nil {
		_, err = s.Append(record(s.Last()+1), false)
	}
	if !errors.Is(err, spool.ErrFull) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("Append = %v, want ErrFull because of ENOSPC", err)
	}
	if s.Trouble() == nil {
		t.Error("no trouble is told")
	}
	if _, err := s.Append(record(s.Last()+1), true); err != nil {
		t.Errorf("the last word: %v", err)
	}
	full := s.Last()
	if first, last := read(t, s); first != 1 || last != full {
		t.Errorf("records %d to %d, want 1 to %d", first, last, full)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if retry < time.Hour { // else by Close
		until(t, "the disk takes records again", func() bool {
			_, _ = s.Append(record(s.Last()+1), false) // refused until then
			return s.Trouble() == nil
		})
	}
	last := s.Last()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, at, spool.Options{})
	if first, got := read(t, s); first != 1 || got != last {
		t.Errorf("after Open records %d to %d, want 1 to %d", first, got, last)
	}
	_ = s.Close()
}
