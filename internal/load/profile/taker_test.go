package profile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/wire"
)

// A profile is complete after its duration or at the end of the load, whichever is first. A
// second concurrent CPU profile, and one after the end, are refused.
func TestTaker(t *testing.T) {
	dir := t.TempDir()
	taker := NewTaker()
	take := func(kind, name string, d time.Duration) chan error {
		done := make(chan error, 1)
		taker.Take(&wire.Profile{Kind: kind, File: filepath.Join(dir, name), DurationNs: int64(d)}, func(err error) { done <- err })
		return done
	}
	size := func(name string) int64 {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if err := <-take("heap", "heap", time.Hour); err != nil || size("heap") == 0 {
		t.Errorf("heap: %v", err)
	}
	if err := <-take("cpu", "short", 20*time.Millisecond); err != nil || size("short") == 0 {
		t.Errorf("short: %v", err)
	}
	long := take("cpu", "long", time.Hour)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "long")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the long one did not begin in 10 s")
		}
	}
	taker.End()
	if err := <-long; err != nil || size("long") == 0 {
		t.Errorf("long: %v", err)
	}
	if err := <-take("heap", "late", 0); err == nil || !strings.Contains(err.Error(), "load is over") {
		t.Errorf("late: %v", err)
	}
	taker.End() // is harmless
}
