package server

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/master/bus"
)

// The folder for runs is made, and an agent that can't make it does not begin.
func TestWorkFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	work := filepath.Join(dir, "new", "work")
	if err := RunAgent(context.Background(), bus.Identity{}, AgentOptions{Dir: dir, Work: work}); err == nil || strings.Contains(err.Error(), "--work") {
		t.Errorf("without a master: %v", err)
	}
	if _, err := os.Stat(work); err != nil {
		t.Error(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := RunAgent(context.Background(), bus.Identity{}, AgentOptions{Dir: dir, Work: filepath.Join(file, "below")}); err == nil || !strings.Contains(err.Error(), "make the folder for runs (--work)") {
		t.Errorf("below a file: %v", err)
	}
}
