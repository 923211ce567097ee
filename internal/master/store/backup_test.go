package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// I12: a backup that is made during writes is a consistent store.
func TestBackup(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		dir := t.TempDir()
		if e.options.DSN != "" {
			err := s.Backup(ctx, filepath.Join(dir, "x"))
			if err == nil || !strings.Contains(err.Error(), "pg_dump") || strings.Contains(e.options.DSN, err.Error()) {
				t.Errorf("it says %v", err)
			}
			return
		}
		o := newRun(t, s, 1)
		var kept atomic.Int64
		stop, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			for n := 1; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := s.Take(ctx, intakeOf(o.ID, n, 2)); err != nil {
					t.Error(err)
					return
				}
				kept.Store(int64(n))
				if n%100 == 0 {
					if err := s.Maintain(ctx); err != nil {
						t.Error(err)
					}
				}
			}
		}()
		for i := range 5 {
			path := filepath.Join(dir, fmt.Sprint("it's ", i))
			before := kept.Load()
			must(t, s.Backup(ctx, path))
			after := kept.Load() + 1
			info, err := os.Stat(path)
			must(t, err)
			if info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v", info.Mode())
			}
			b, err := Open(ctx, Options{Path: path, Fold: addCounts})
			if err != nil {
				t.Fatal(err)
			}
			n, err := consistent(ctx, b, o.ID, 2)
			if err != nil || int64(n) < before || int64(n) > after {
				t.Errorf("%d intakes, there were %d to %d: %v", n, before, after, err)
			}
			must(t, b.Take(ctx, intakeOf(o.ID, n+1, 2))) // a master continues from it
			must(t, b.Close())
		}
		close(stop)
		<-ended
		there := filepath.Join(dir, "there")
		must(t, os.WriteFile(there, []byte("mine"), 0o600))
		wantErr(t, s.Backup(ctx, there), fs.ErrExist)
		if b, err := os.ReadFile(there); err != nil || !bytes.Equal(b, []byte("mine")) {
			t.Errorf("what was there is %q, %v", b, err)
		}
		if err := s.Backup(ctx, filepath.Join(dir, "none", "x")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("into no folder: %v", err)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "*.part-*")); err != nil || len(left) > 0 {
			t.Errorf("left %v, %v", left, err)
		}
	})
}
