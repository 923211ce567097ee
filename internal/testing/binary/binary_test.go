package binary

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// The program starts, and a second caller gets the same one.
func TestGobench(t *testing.T) {
	path := Gobench(t)
	if filepath.Base(path) != "gobench" || !filepath.IsAbs(path) || Gobench(t) != path {
		t.Errorf("%s, then %s", path, Gobench(t))
	}
	if out, err := exec.Command(path, "version").CombinedOutput(); err != nil {
		t.Errorf("gobench version: %v\n%s", err, out)
	}
}
