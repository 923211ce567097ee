package sandbox_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/agent/sandbox"
)

// TestExecutableOpenForWriting holds that a box waits for an executable that a process has
// open for writing, as one does that is between fork and exec while the agent writes it.
func TestExecutableOpenForWriting(t *testing.T) {
	root(t)
	t.Parallel()
	b, err := sandbox.New(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	code, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "executable")
	if err := os.WriteFile(path, code, 0o755); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd, err := b.Command(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, f := range cmd.ExtraFiles {
			f.Close()
		}
	}()
	time.AfterFunc(200*time.Millisecond, func() { writer.Close() }) // after its first try, except on a slow host
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
