package profile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/wire"
)

// A file that can't be written, and an unknown profile, are named in the error, and no profile
// keeps running.
func TestBeginRefuses(t *testing.T) {
	dir := t.TempDir()
	good := &wire.Profile{Kind: "cpu", File: filepath.Join(dir, "cpu")}
	for _, tt := range []struct {
		bad  *wire.Profile
		want string
	}{
		{&wire.Profile{Kind: "trace", File: filepath.Join(dir, "nowhere", "trace")}, "trace profile " + filepath.Join(dir, "nowhere")},
		{&wire.Profile{Kind: "smoke", File: filepath.Join(dir, "smoke")}, "knows no such profile"},
		{good, "cpu profiling already in use"},
	} {
		if _, err := Begin([]*wire.Profile{good, tt.bad}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Begin = %v, want %q", err, tt.want)
		}
	}
	s, err := Begin([]*wire.Profile{good})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.End(); err != nil {
		t.Error(err)
	}
}

// All files are complete when End returns; the heap's is at the end of the load, one with a
// limit is at its limit; and a second End does nothing.
func TestProfilesAreComplete(t *testing.T) {
	dir := t.TempDir()
	size := func(kind string) int64 {
		info, err := os.Stat(filepath.Join(dir, kind))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	var asked []*wire.Profile
	for kind := range kinds {
		asked = append(asked, &wire.Profile{Kind: kind, File: filepath.Join(dir, kind)})
		if kind == "mutex" {
			asked[len(asked)-1].DurationNs = int64(time.Millisecond)
		}
	}
	s, err := Begin(asked)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); size("mutex") == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the limit did not end the profile in 10 s")
		}
	}
	s.LoadOver()
	if size("heap") == 0 || size("cpu") != 0 || size("block") != 0 {
		t.Errorf("at the load's end the heap's has %d bytes, the CPU's %d", size("heap"), size("cpu"))
	}
	heap := size("heap")
	for range 2 {
		if err := s.End(); err != nil {
			t.Fatal(err)
		}
	}
	for kind := range kinds {
		if size(kind) == 0 {
			t.Errorf("%s is empty", kind)
		}
	}
	if size("heap") != heap {
		t.Error("the heap's was written twice")
	}
}
