package spool_test

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/agent/spool"
	"github.com/gobench-io/gobench/internal/testing/long"
)

// writerEnv makes this test binary a writer of the spool in that folder, which says on
// standard output up to where it is safe.
const writerEnv = "SPOOL_TEST_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerEnv); dir != "" {
		write(dir)
	}
	if err := flag.Set("test.parallel", "8"); err != nil { // they wait for the disk
		panic(err)
	}
	os.Exit(m.Run())
}

// write appends records, and forgets some, until it is killed.
func write(dir string) {
	safe := make(chan struct{}, 1)
	s, err := spool.Open(dir, spool.Options{Segment: 4 << 10, Safe: func() {
		select {
		case safe <- struct{}{}:
		default:
		}
	}})
	if err != nil {
		panic(err)
	}
	go func() {
		var at uint64
		for range safe {
			for {
				n, _, ok, err := s.Next(at)
				if err != nil {
					panic(err)
				}
				if !ok {
					break
				}
				at = n
			}
			fmt.Println("safe", at)
			if at > 100 {
				fmt.Println("forgotten", at-100)
				s.Forget(at - 100)
			}
		}
	}()
	for {
		if _, err := s.Append(record(s.Last()+1), false); err != nil {
			panic(err)
		}
	}
}

// record is the bytes of a record, of many lengths.
func record(n uint64) []byte {
	return bytes.Repeat([]byte(strconv.FormatUint(n, 10)+" "), int(n*7%50))
}

func open(t *testing.T, dir string, o spool.Options) *spool.Spool {
	t.Helper()
	s, err := spool.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func add(t *testing.T, s *spool.Spool, n int) {
	t.Helper()
	for range n {
		if _, err := s.Append(record(s.Last()+1), false); err != nil {
			t.Fatal(err)
		}
	}
}

// read reads all safe records and returns the first and the last number. They have no gap.
func read(t *testing.T, s *spool.Spool) (first, last uint64) {
	t.Helper()
	for {
		n, body, ok, err := s.Next(last)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return first, last
		}
		if first == 0 {
			first = n
		} else if n != last+1 {
			t.Fatalf("record %d follows %d", n, last)
		}
		if !bytes.Equal(body, record(n)) {
			t.Fatalf("record %d is %.50q", n, body)
		}
		last = n
	}
}

// until polls for 30 s.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in 30 s: %s", what)
		}
	}
}

func TestRecordsStayUntilTheyAreForgotten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, spool.Options{Segment: 1 << 10})
	add(t, s, 500)
	until(t, "all are safe", func() bool { _, last := read(t, s); return last == 500 })
	s.Forget(200)
	if first, last := read(t, s); first != 201 || last != 500 {
		t.Errorf("records %d to %d, want 201 to 500", first, last)
	}
	if n, oldest := s.Unsaved(); n != 300 || time.Since(oldest) > time.Minute {
		t.Errorf("%d unsaved, the oldest of %v", n, oldest)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(nil, false); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Append after Close = %v", err)
	}
	s = open(t, dir, spool.Options{Segment: 1 << 10})
	if first, last := read(t, s); first > 201 || last != 500 {
		t.Errorf("after Open records %d to %d", first, last)
	}
	s.Forget(500)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, spool.Options{})
	if add(t, s, 1); s.Last() != 501 {
		t.Errorf("all were forgotten, and the next number is %d, not 501", s.Last())
	}
	if err := s.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("after Remove: %v", err)
	}
}

// twelve returns the single file of a spool of twelve records.
func twelve(t *testing.T) (name string, whole []byte) {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir, spool.Options{})
	add(t, s, 12)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Base(files[0]), whole
}

// The last file may end anywhere, or in bytes that were never written: what is whole
// before is there, and new records follow it.
// step is how many bytes lie between two places at which a file is torn or damaged.
func step() int {
	if long.Run {
		return 1
	}
	return 11
}

func TestTornEnd(t *testing.T) {
	t.Parallel()
	name, whole := twelve(t)
	var before uint64
	for size := len(whole) % step(); size <= len(whole); size += step() {
		for _, zeros := range []int{0, 100} {
			dir := t.TempDir()
			torn := append(append([]byte(nil), whole[:size]...), make([]byte, zeros)...)
			if err := os.WriteFile(filepath.Join(dir, name), torn, 0o600); err != nil {
				t.Fatal(err)
			}
			s := open(t, dir, spool.Options{})
			_, last := read(t, s)
			if last < before || last > 12 {
				t.Fatalf("of %d bytes: %d records, with fewer bytes %d", size, last, before)
			}
			before = last
			add(t, s, 3)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir, spool.Options{})
			if _, got := read(t, s); got != last+3 {
				t.Fatalf("of %d bytes: %d records, want %d", size, got, last+3)
			}
			_ = s.Close()
		}
	}
	if before != 12 {
		t.Errorf("the whole file has %d records", before)
	}
}

// A flipped bit never becomes a record.
func TestDamage(t *testing.T) {
	t.Parallel()
	name, whole := twelve(t)
	dir := t.TempDir()
	for at := 0; at < len(whole); at += step() {
		bad := bytes.Clone(whole)
		bad[at] ^= 0x10
		if err := os.WriteFile(filepath.Join(dir, name), bad, 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir, spool.Options{})
		if _, last := read(t, s); last >= 12 {
			t.Fatalf("byte %d is wrong, and %d records are there", at, last)
		}
		_ = s.Close()
	}
}

// F17, F14: killed at any moment, all that was reported as safe is there, once.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	n := 10
	if long.Run {
		n = 40
	}
	for n := range n {
		wait := time.Duration(r.Int64N(int64(80 * time.Millisecond)))
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var safe, forgotten uint64
			for range 2 { // the second process continues where the first ended
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), writerEnv+"="+dir)
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				lines := bufio.NewScanner(out)
				if !lines.Scan() { // it is at work
					t.Fatal("the writer said nothing")
				}
				time.AfterFunc(wait, func() { _ = cmd.Process.Kill() })
				for ok := true; ok; ok = lines.Scan() {
					word, number, _ := strings.Cut(lines.Text(), " ")
					n, err := strconv.ParseUint(number, 10, 64)
					switch {
					case err != nil: // torn by the kill
					case word == "safe":
						safe = n
					case word == "forgotten":
						forgotten = n
					}
				}
				_ = cmd.Wait() // it was killed
				s := open(t, dir, spool.Options{})
				first, last := read(t, s)
				if last < safe || first > forgotten+1 {
					t.Errorf("records %d to %d, want %d to %d and perhaps more", first, last, forgotten+1, safe)
				}
				_ = s.Close()
			}
		})
	}
}

// Next and Forget find records at and beyond both ends, whatever number they get.
func TestNumbersOutside(t *testing.T) {
	t.Parallel()
	s, err := spool.Open(t.TempDir(), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 3 {
		if _, err := s.Append([]byte("x"), false); err != nil {
			t.Fatal(err)
		}
	}
	s.Forget(0)
	if first := s.First(); first != 1 {
		t.Errorf("the first is %d after nothing was deleted", first)
	}
	s.Forget(1)
	if first, last := s.First(), s.Last(); first != 2 || last != 3 {
		t.Errorf("%d to %d are left, want 2 to 3", first, last)
	}
	for _, above := range []uint64{3, math.MaxUint64} {
		if n, _, ok, err := s.Next(above); ok || err != nil {
			t.Errorf("above %d: record %d, %v", above, n, err)
		}
	}
	s.Forget(math.MaxUint64)
	if n, _ := s.Unsaved(); n != 0 || s.First() != 4 {
		t.Errorf("%d are left, the first is %d", n, s.First())
	}
}
