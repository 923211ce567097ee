package blobs_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/agent/blobs"
)

func random(size int) ([]byte, string) {
	b := make([]byte, size)
	r := rand.New(rand.NewPCG(uint64(size), 1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	sum := sha256.Sum256(b)
	return b, hex.EncodeToString(sum[:])
}

// source serves bytes, breaks off after so many, and notes where it was asked to begin.
type source struct {
	data    []byte
	breaks  int // bytes of each answer; 0: all
	offsets []int64
}

func (s *source) fetch(_ context.Context, offset int64, w io.Writer) error {
	s.offsets = append(s.offsets, offset)
	rest := s.data[offset:]
	if s.breaks > 0 && len(rest) > s.breaks {
		_, err := w.Write(rest[:s.breaks])
		return errors.Join(errors.New("broke off"), err)
	}
	_, err := w.Write(rest)
	return err
}

func open(t *testing.T, limit int64) (*blobs.Cache, string) {
	t.Helper()
	dir := t.TempDir()
	c, err := blobs.Open(dir, limit)
	if err != nil {
		t.Fatal(err)
	}
	return c, dir
}

func content(t *testing.T, f *os.File) []byte {
	t.Helper()
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// One that breaks off continues from there, and is then in the cache.
func TestGetGoesOn(t *testing.T) {
	t.Parallel()
	c, _ := open(t, 1<<20)
	data, sum := random(1000)
	s := &source{data: data, breaks: 400}
	for n := range 2 {
		if _, err := c.Get(t.Context(), sum, 1000, s.fetch); err == nil || !strings.Contains(err.Error(), "broke off") {
			t.Fatalf("attempt %d: %v", n, err)
		}
	}
	for range 2 {
		f, err := c.Get(t.Context(), sum, 1000, s.fetch)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(content(t, f), data) {
			t.Error("other bytes")
		}
	}
	if want := []int64{0, 400, 800}; len(s.offsets) != 3 || s.offsets[1] != want[1] || s.offsets[2] != want[2] {
		t.Errorf("fetched from %v, want %v", s.offsets, want)
	}
}

// F39: a byte that is wrong, on its way or on the disk, is found before anything is run.
func TestDigest(t *testing.T) {
	t.Parallel()
	c, dir := open(t, 1<<20)
	data, sum := random(1000)
	bad := bytes.Clone(data)
	bad[500] ^= 1
	if _, err := c.Get(t.Context(), sum, 1000, (&source{data: bad}).fetch); !errors.Is(err, blobs.ErrDigest) {
		t.Errorf("damaged on its way: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("what is damaged was kept: %v", left)
	}
	// The first half was damaged, the rest is not: it is fetched anew.
	_, err := c.Get(t.Context(), sum, 1000, (&source{data: bad, breaks: 600}).fetch)
	if err == nil {
		t.Fatal("it did not break off")
	}
	s := &source{data: data}
	f, err := c.Get(t.Context(), sum, 1000, s.fetch)
	if err != nil || len(s.offsets) != 2 || s.offsets[1] != 0 {
		t.Fatalf("%v, fetched from %v", err, s.offsets)
	}
	f.Close()
	// On the disk.
	path := filepath.Join(dir, sum)
	if err := errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, bad, 0o600)); err != nil {
		t.Fatal(err)
	}
	s = &source{data: data}
	if f, err = c.Get(t.Context(), sum, 1000, s.fetch); err != nil || !bytes.Equal(content(t, f), data) || len(s.offsets) != 1 {
		t.Errorf("damaged on the disk: %v, fetched from %v", err, s.offsets)
	}
	for _, sum := range []string{"", "../../etc/passwd", strings.ToUpper(sum), sum + "0", strings.Repeat("x", 64)} {
		if _, err := c.Get(t.Context(), sum, 1000, s.fetch); !errors.Is(err, blobs.ErrDigest) {
			t.Errorf("digest %q: %v", sum, err)
		}
		if _, err := c.Open(sum); !errors.Is(err, blobs.ErrDigest) {
			t.Errorf("open digest %q: %v", sum, err)
		}
	}
}

// A blob must have the requested length.
func TestLength(t *testing.T) {
	t.Parallel()
	c, dir := open(t, 1<<20)
	data, sum := random(1000)
	if _, err := c.Get(t.Context(), sum, 900, (&source{data: data}).fetch); err == nil || !strings.Contains(err.Error(), "more bytes") {
		t.Errorf("too long: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := c.Get(t.Context(), sum, 1100, (&source{data: data}).fetch); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("too short: %v", err)
	}
}

// The least recently used go, and who has one open still reads it.
func TestLimit(t *testing.T) {
	t.Parallel()
	c, dir := open(t, 2500)
	var sums []string
	var first *os.File
	for n := range 4 {
		data, sum := random(1000 + n)
		f, err := c.Get(t.Context(), sum, int64(len(data)), (&source{data: data}).fetch)
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, sum)
		then := time.Now().Add(time.Duration(n-10) * time.Minute)
		if err := os.Chtimes(filepath.Join(dir, sum), then, then); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			first = f
		} else {
			f.Close()
		}
	}
	for n, sum := range sums {
		_, err := os.Stat(filepath.Join(dir, sum))
		if there := err == nil; there != (n >= 2) {
			t.Errorf("blob %d is there: %t", n, there)
		}
	}
	if want, _ := random(1000); !bytes.Equal(content(t, first), want) {
		t.Error("an open one has lost its bytes")
	}
	if _, err := c.Get(t.Context(), sums[0], 5000, nil); !errors.Is(err, blobs.ErrSpace) {
		t.Errorf("larger than all: %v", err)
	}
}

func TestPut(t *testing.T) {
	t.Parallel()
	c, dir := open(t, 1<<20)
	data, sum := random(777)
	got, size, err := c.Put(bytes.NewReader(data))
	if err != nil || got != sum || size != 777 {
		t.Fatalf("%s %d %v, want %s", got, size, err, sum)
	}
	f, err := c.Open(sum)
	if err != nil || !bytes.Equal(content(t, f), data) {
		t.Error(err)
	}
	if err := c.Remove(sum); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
