package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// childEnv selects what the process of a test does instead of the tests; childPath is the
// path of its store.
const (
	childEnv  = "GOBENCH_STORE_CHILD"
	childPath = "GOBENCH_STORE_PATH"
)

// child is the main function of such a process. It prints lines for the test.
func child(does string) int {
	ctx := context.Background()
	path := os.Getenv(childPath)
	if does == "full" {
		if err := smallDisk(filepath.Dir(path)); err != nil {
			fmt.Println("mount:", err)
			return 1
		}
	}
	s, err := Open(ctx, Options{Path: path, Fold: addCounts})
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	defer s.Close()
	fmt.Println("opened")
	switch does {
	case "open":
		return 0
	case "take":
		err = childTakes(ctx, s, 100_000)
	case "eio":
		err = childFails(ctx, s)
	case "full":
		err = childFills(ctx, s, filepath.Dir(path))
	}
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	fmt.Println("done")
	return 0
}

// childTakes takes one second of a run after the other, and prints the number of each that
// is stored.
func childTakes(ctx context.Context, s *Store, n int) error {
	o := &run.Order{ID: runID(1), Created: base}
	if err := s.CreateRun(ctx, o, run.Source{}); err != nil {
		return err
	}
	for i := 1; i <= n; i++ {
		if err := s.Take(ctx, intakeOf(o.ID, i, 2)); err != nil {
			return err
		}
		fmt.Println("kept", i)
		if i%200 == 0 {
			if err := s.Maintain(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// childFails writes until a write fails, and then checks that no other is tried.
func childFails(ctx context.Context, s *Store) error {
	err := childTakes(ctx, s, 1000)
	var failed *Error
	if !errors.As(err, &failed) || failed.Kind != Disk {
		return fmt.Errorf("a write that fails gives %w", err)
	}
	if s.Broken() == nil {
		return errors.New("the store does not say that it is broken")
	}
	for range 3 {
		if err := s.PutSetting(ctx, "x", nil); err == nil || !strings.Contains(err.Error(), "takes no more writes") {
			return fmt.Errorf("the write after it gives %w", err)
		}
	}
	if _, err := s.Run(ctx, runID(1)); err != nil {
		return fmt.Errorf("a read after it gives %w", err)
	}
	fmt.Println("failed as it should:", err)
	return nil
}

// childFills fills the disk, checks that a write fails without leaving anything, makes room
// and continues.
func childFills(ctx context.Context, s *Store, dir string) error {
	ballast := filepath.Join(dir, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		return err
	}
	block := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	if err := errors.Join(f.Truncate(3<<20), f.Close()); err != nil { // room for a little
		return err
	}
	o := &run.Order{ID: runID(1), Created: base}
	if err := s.CreateRun(ctx, o, run.Source{}); err != nil {
		return err
	}
	kept := 0
	for err = nil; err == nil && kept < 100_000; kept++ {
		err = s.Take(ctx, intakeOf(o.ID, kept+1, 20))
	}
	kept--
	if !errors.Is(err, run.ErrFull) {
		return fmt.Errorf("after %d intakes: %w", kept, err)
	}
	fmt.Println("full after", kept, err)
	for range 3 {
		if err := s.Take(ctx, intakeOf(o.ID, kept+1, 20)); !errors.Is(err, run.ErrFull) {
			return fmt.Errorf("again: %w", err)
		}
	}
	if _, totals, err := s.Taken(ctx, o.ID); err != nil || string(totals) != string(counts(uint64(kept*20))) {
		return fmt.Errorf("reading while it is full: %x, %w", totals, err)
	}
	if err := os.Remove(ballast); err != nil {
		return err
	}
	for n := kept + 1; n <= kept+50; n++ {
		if err := s.Take(ctx, intakeOf(o.ID, n, 20)); err != nil {
			return fmt.Errorf("with room again: %w", err)
		}
	}
	if n, err := consistent(ctx, s, o.ID, 20); err != nil || n != kept+50 {
		return fmt.Errorf("kept %d of %d: %w", n, kept+50, err)
	}
	return check(ctx, s.name)
}

// consistent returns the number of intakes of a run with this many executors. It returns an
// error if something of them is missing, or if there is more.
func consistent(ctx context.Context, s *Store, id string, executors int) (n int, err error) {
	sources, totals, err := s.Taken(ctx, id)
	if err != nil {
		return 0, err
	}
	for i, x := range sources {
		if i == 0 {
			n = int(x.Seq)
		}
		if x.Seq != uint64(n) || string(x.State) != string(counts(uint64(n))) {
			return 0, fmt.Errorf("executor %d is at %d, and the first at %d", x.Executor, x.Seq, n)
		}
	}
	var keys, highest int
	if err := s.r.QueryRowContext(ctx, `SELECT COUNT(*), COALESCE(MAX(seq), 0) FROM batches`).Scan(&keys, &highest); err != nil {
		return 0, err
	}
	var series uint64
	err = s.Series(ctx, run.SeriesQuery{Run: id}, func(p run.SeriesPart) error {
		_, n := total([]run.SeriesPart{p})
		series += n
		return nil
	})
	switch {
	case err != nil:
		return 0, err
	case n > 0 && (len(sources) != executors || string(totals) != string(counts(uint64(n*executors)))), n == 0 && totals != nil:
		return 0, fmt.Errorf("after %d intakes there are %d executors and totals of %x", n, len(sources), totals)
	case keys != n*executors, highest != n, series != uint64(n*executors):
		return 0, fmt.Errorf("after %d intakes there are %d batches up to %d, and %d counts", n, keys, highest, series)
	}
	return n, nil
}

// startChild starts a process that does something with the store at path.
func startChild(t *testing.T, does, path string, before ...string) (*exec.Cmd, io.ReadCloser) {
	t.Helper()
	line := append(before, os.Args[0])
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), childEnv+"="+does, childPath+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	return cmd, out
}

// ended waits for a child that ends by itself, and returns its output.
func ended(t *testing.T, cmd *exec.Cmd, out io.Reader) string {
	t.Helper()
	must(t, cmd.Start())
	stuck := time.AfterFunc(5*time.Minute, func() { cmd.Process.Kill() })
	defer stuck.Stop()
	text, err := io.ReadAll(out)
	if err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // its output has the result
	return string(text)
}
