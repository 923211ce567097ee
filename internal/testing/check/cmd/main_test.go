package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/master/store"
	"github.com/gobench-io/gobench/internal/measure/merge"
)

// The program's exit status reports what it found, or that it could not check.
func TestExitStatus(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gobench.db")
	s, err := store.Open(t.Context(), store.Options{Path: path, Fold: merge.Fold})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ledgers := t.TempDir()
	status := func(args ...string) (int, string) {
		var out, trouble bytes.Buffer
		return command(context.Background(), args, &out, &trouble), out.String() + trouble.String()
	}
	if got, text := status("--db", path, "--ledgers", ledgers); got != 0 {
		t.Errorf("an empty store: %d %s", got, text)
	}
	if err := os.WriteFile(filepath.Join(ledgers, "agent.20260101-000000-aaaaaa.0.1.batches"), []byte("gobench batches 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, text := status("--db", path, "--ledgers", ledgers); got != 1 || !strings.HasPrefix(text, "I1: run 20260101-000000-aaaaaa: ") {
		t.Errorf("a ledger of no run: %d %s", got, text)
	}
	for _, args := range [][]string{{}, {"--db", path + "x"}, {"--db", path, "a", "b"}, {"--db", path, "--targets", path}, {"--nothing"}} {
		if got, text := status(args...); got != 2 || text == "" {
			t.Errorf("%q: %d %q, want 2 and a reason", args, got, text)
		}
	}
}
