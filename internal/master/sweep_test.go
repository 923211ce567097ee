package master

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// entries returns the names in a folder of the master.
func (r *rig) entries(name string) (names []string) {
	r.t.Helper()
	all, err := os.ReadDir(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

// Output and memory of runs that retention deletes, and those of an application, are deleted;
// those of other runs stay.
func TestDeletedRunsLeaveNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one")
		one := r.of("one")
		one.change(func(*fakeAgent) {
			one.answers = func(c *agentpb.Command) *agentpb.Answer {
				if kind(c) == "begin" {
					one.bus.agents.Go(func() {
						one.deliver(&agentpb.Delivery{Executor: uint32(one.parts[0].number), What: &agentpb.Delivery_Log{Log: &agentpb.Log{Text: []byte("printed\n")}}})
						one.finish()
					})
				}
				return nil
			}
		})
		var ids []string
		for range 3 {
			id := r.submit(run.Options{})
			r.result(id)
			ids = append(ids, id)
		}
		if got := r.entries("logs"); !slices.Equal(got, ids) {
			t.Fatalf("there is output of %q, want %q", got, ids)
		}
		if err := r.store.DeleteRun(context.Background(), ids[0]); err != nil { // as retention does
			t.Fatal(err)
		}
		left := func() (n int) {
			if err := r.intake.with(context.Background(), func() {
				for _, id := range ids {
					if r.intake.runs[id] != nil {
						n++
					}
				}
			}); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if err := r.sweep(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := r.entries("logs"); !slices.Equal(got, ids[1:]) || left() != 2 {
			t.Errorf("after retention: there is output of %q, and %d records", got, left())
		}
		o, err := r.Run(context.Background(), ids[1])
		if err == nil {
			err = r.DeleteApplication(context.Background(), o.Application)
		}
		if got := r.entries("logs"); err != nil || !slices.Equal(got, ids[2:]) || left() != 1 {
			t.Errorf("after the deletion of an application: there is output of %q, and %d records, %v", got, left(), err)
		}
		if err := r.store.DeleteRun(context.Background(), ids[2]); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // of maintenance
		r.until("nothing is left", func() bool { return len(r.entries("logs"))+left() == 0 })
	})
}

// The folder of data files has those of the last run only, also after a restart.
func TestDataFilesOfOneRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 {
		b, err := newBlobs(dir)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 3 {
			blobs, err := b.files([]run.File{{Path: "same", Data: []byte("same")}, {Path: "own", Data: bytes.Repeat([]byte("x"), n+1)}})
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range blobs {
				f, err := b.open(x.Sha256)
				if err != nil {
					t.Fatal(err)
				}
				f.Close()
			}
			if all, err := os.ReadDir(dir); err != nil || len(all) != 2 || len(b.path) != 2 {
				t.Errorf("after run %d there are %d files, %d registered, %v", n, len(all), len(b.path), err)
			}
		}
	}
}

// Imports and exports that were cut off by the end of a process leave no files.
func TestFoldersOfCutTransfers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.end()
		for _, name := range []string{"import-123", "export-456"} {
			if err := os.MkdirAll(filepath.Join(r.dir, name, "run"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		r.begin()
		for _, pattern := range []string{importDir, exportDir} {
			if left, err := fs.Glob(os.DirFS(r.dir), pattern); err != nil || len(left) > 0 {
				t.Errorf("left are %q, %v", left, err)
			}
		}
	})
}
