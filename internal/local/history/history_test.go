package history

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

func create(t *testing.T, h History, at time.Time) (*Folder, *run.Result) {
	t.Helper()
	r := &run.Result{Format: run.Format, ID: run.NewID(at), Created: at, State: run.Running}
	f, err := h.Create(r.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Put(r); err != nil {
		t.Fatal(err)
	}
	return f, r
}

func TestARunIsKept(t *testing.T) {
	h := Open(filepath.Join(t.TempDir(), "runs"))
	if ids, err := h.List(); ids != nil || err != nil {
		t.Fatalf("List of nothing = %v, %v", ids, err)
	}
	f, r := create(t, h, time.Now())
	for seq := range uint64(3) {
		if err := f.Append(int(seq), &wire.Batch{Seq: seq + 1, Notes: []string{"a note"}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Log.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if got, err := h.Load(r.ID); err != nil || got.State != run.Running {
		t.Errorf("while it goes on: %v, %v", got, err)
	}
	if err := h.Remove(r.ID); err == nil || !strings.Contains(err.Error(), "running") {
		t.Errorf("Remove while it goes on = %v", err)
	}
	r.State = run.Finished
	if err := errors.Join(f.Put(r), f.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := h.Load(r.ID); err != nil || got.State != run.Finished {
		t.Errorf("afterwards: %v, %v", got, err)
	}
	var seqs []uint64
	err := h.Batches(r.ID, func(executor int, b *wire.Batch) error {
		if uint64(executor) != b.Seq-1 || b.Notes[0] != "a note" {
			t.Errorf("executor %d has %v", executor, b)
		}
		seqs = append(seqs, b.Seq)
		return nil
	})
	if err != nil || !slices.Equal(seqs, []uint64{1, 2, 3}) {
		t.Errorf("batches %v, %v", seqs, err)
	}
	for _, name := range []string{"", resultFile, batchesFile, logFile} {
		info, err := os.Stat(filepath.Join(h.Dir(r.ID), name))
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%q: %v %v, want it for this user alone", name, info.Mode(), err)
		}
	}
	if h.Size(r.ID) == 0 {
		t.Error("Size = 0")
	}
	if err := h.Remove(r.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Load(r.ID); !errors.Is(err, run.ErrNotFound) {
		t.Errorf("after Remove: %v", err)
	}
}

// TestOwner holds that a run without a final result is active while its owner holds the lock,
// or, of earlier versions, lives.
func TestOwner(t *testing.T) {
	self := strconv.Itoa(os.Getpid())
	for text, want := range map[string]run.State{
		"4194305\n":          run.Failed, // above pid_max
		"4194305 locked\n":   run.Running,
		self + "\n":          run.Running,
		self + " locked\n":   run.Running,
		self + " locked\n\n": run.Running,
		"":                   run.Failed,
		"x\n":                run.Failed,
	} {
		h := Open(t.TempDir())
		f, r := create(t, h, time.Now())
		if err := os.WriteFile(filepath.Join(f.Dir(), ownerFile), []byte(text), 0o600); err != nil { // the same file, still locked
			t.Fatal(err)
		}
		got, err := h.Load(r.ID)
		if err != nil || got.State != want || (want == run.Failed) != (len(got.Missing) > 0) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	h := Open(t.TempDir())
	f, r := create(t, h, time.Now())
	f.owner.Close() // as when the process was killed, whose pid another has now
	if got, err := h.Load(r.ID); err != nil || got.State != run.Failed {
		t.Errorf("without the lock: %+v, %v", got, err)
	}
	if err := h.Remove(r.ID); err != nil {
		t.Error(err)
	}
}

// TestFiguresSoFar holds that an active run's figures have no verdict, and nothing is missing.
func TestFiguresSoFar(t *testing.T) {
	h := Open(t.TempDir())
	f, r := create(t, h, time.Now())
	b := &wire.Batch{Seq: 1, ToNs: 1e9, GoUnixNs: 1e18, Declared: []*wire.Metric{{Title: "a", Type: "counter", Group: "g", Graph: "h", Unit: "N"}}, Counters: []*wire.Counter{{Add: 5}}}
	if err := f.Append(0, b); err != nil {
		t.Fatal(err)
	}
	got, err := h.LoadFigures(r.ID)
	if err != nil || got.State != run.Running || got.Verdict != "" || len(got.Reasons) > 0 || len(got.Missing) > 0 || len(got.Metrics) != 1 || *got.Metrics[0].Count != 5 {
		t.Errorf("%+v, %v", got, err)
	}
	f.owner.Close()
	got, err = h.LoadFigures(r.ID)
	if err != nil || got.State != run.Failed || len(got.Missing) < 2 || *got.Metrics[0].Count != 5 {
		t.Errorf("after its end: %+v, %v", got, err)
	}
}

func TestBatchesEndWhereTheFileDoes(t *testing.T) {
	h := Open(t.TempDir())
	f, r := create(t, h, time.Now())
	for seq := range uint64(3) {
		if err := f.Append(0, &wire.Batch{Seq: seq + 1, Notes: []string{strings.Repeat("x", 100)}}); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(f.Dir(), batchesFile)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	count := func(b []byte) (n int, err error) {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		err = h.Batches(r.ID, func(int, *wire.Batch) error { n++; return nil })
		return n, err
	}
	record := (len(whole) - len(wire.RecordsHead)) / 3
	for cut := len(wire.RecordsHead); cut <= len(whole); cut++ {
		n, err := count(whole[:cut])
		if want := (cut - len(wire.RecordsHead)) / record; n != want || err != nil {
			t.Fatalf("cut at %d: %d batches, %v; want %d", cut, n, err, want)
		}
	}
	for _, at := range []int{0, len(wire.RecordsHead) + record + 10, len(whole) - 1} {
		b := slices.Clone(whole)
		b[at] ^= 1
		if _, err := count(b); !errors.Is(err, wire.ErrRecord) {
			t.Errorf("a flipped bit at %d: %v", at, err)
		}
	}
}

// Batches that a full disk did not take are written later, in their order, as far as they are
// not too many.
func TestAFullDisk(t *testing.T) {
	device, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err) // Linux only
	}
	defer device.Close()
	h := Open(t.TempDir())
	f, r := create(t, h, time.Now())
	disk := f.batches
	for seq, full := range []bool{false, true, true, false} {
		if f.batches = disk; full {
			f.batches = device
		}
		if err := f.Append(0, &wire.Batch{Seq: uint64(seq) + 1}); (err != nil) != full || (len(f.pending) > 0) != full {
			t.Errorf("batch %d: %v, %d bytes wait", seq+1, err, len(f.pending))
		}
	}
	var got []uint64
	if err := h.Batches(r.ID, func(_ int, b *wire.Batch) error { got = append(got, b.Seq); return nil }); err != nil || !slices.Equal(got, []uint64{1, 2, 3, 4}) {
		t.Errorf("the batches %v are stored, %v", got, err)
	}
	f.batches, f.pending = device, make([]byte, maxPending+1)
	if err := f.Append(0, &wire.Batch{Seq: 5}); err == nil || len(f.pending) != maxPending+1 {
		t.Errorf("one too many: %v, %d bytes wait", err, len(f.pending))
	}
	f.batches = disk
	if err := f.Flush(); err == nil || len(f.pending) > 0 {
		t.Errorf("that a batch was dropped is forgotten: %v, %d bytes wait", err, len(f.pending))
	}
	if err := f.Discard(); err != nil {
		t.Error(err)
	}
}

func TestFind(t *testing.T) {
	h := Open(t.TempDir())
	if _, err := h.Find("last"); !errors.Is(err, run.ErrNotFound) {
		t.Errorf("Find in nothing = %v", err)
	}
	ids := []string{"20260101-000000-aaaazz", "20260101-000000-bbbbzz", "20260202-000000-cccczz"}
	for _, id := range append(ids, "not-a-run", "20269999-000000-ddddzz") {
		if err := os.Mkdir(h.Dir(id), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := h.List(); err != nil || !slices.Equal(got, ids) {
		t.Errorf("List = %v, %v", got, err)
	}
	for part, want := range map[string]string{"last": ids[2], "bbbb": ids[1], "20260202": ids[2], ids[0]: ids[0]} {
		if got, err := h.Find(part); got != want || err != nil {
			t.Errorf("Find(%q) = %q, %v; want %q", part, got, err, want)
		}
	}
	for part, want := range map[string]string{"202601": "fits 2 runs", "zzz": "no such run", "a": "no such run", "../x": "no such run"} {
		if _, err := h.Find(part); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Find(%q) = %v, want %q", part, err, want)
		}
	}
	for _, id := range []string{"..", "../../etc", "", "20260101-000000-../a"} {
		if _, err := h.Load(id); !errors.Is(err, run.ErrNotFound) {
			t.Errorf("Load(%q) = %v", id, err)
		}
		if err := h.Remove(id); !errors.Is(err, run.ErrNotFound) {
			t.Errorf("Remove(%q) = %v", id, err)
		}
	}
}

func TestLogIsBounded(t *testing.T) {
	h := Open(t.TempDir())
	f, r := create(t, h, time.Now())
	f.Log.left = 10
	for range 3 {
		if n, err := f.Log.Write([]byte("1234567")); n != 7 || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(h.Dir(r.ID), logFile))
	if want := "1234567123\n[gobench: 11 more bytes were not stored]\n"; string(b) != want || err != nil {
		t.Errorf("log = %q, %v", b, err)
	}
}
