package history

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

const archivedID = "20260102-030405-abcdef"

// whole is the folder of a run in a history of its own.
func whole(t *testing.T) History {
	t.Helper()
	h := Open(t.TempDir())
	f, err := h.Create(archivedID)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Append(0, &wire.Batch{Seq: 1, ToNs: 1e9}); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(f.Log, "hello")
	r := &run.Result{Format: run.Format, ID: archivedID, State: run.Finished, Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	if err := errors.Join(f.Put(r), f.Close()); err != nil {
		t.Fatal(err)
	}
	return h
}

func good(History, string) error { return nil }

// A run's folder goes through an archive as it is, once.
func TestArchive(t *testing.T) {
	t.Parallel()
	from, to := whole(t), Open(filepath.Join(t.TempDir(), "new"))
	var b bytes.Buffer
	if err := from.Export(archivedID, &b); err != nil {
		t.Fatal(err)
	}
	refuse := errors.New("no")
	if _, err := to.Import(bytes.NewReader(b.Bytes()), func(History, string) error { return refuse }); !errors.Is(err, refuse) {
		t.Errorf("refused: %v", err)
	}
	r, err := to.Import(bytes.NewReader(b.Bytes()), good)
	if err != nil || r.ID != archivedID {
		t.Fatalf("imported %+v, %v", r, err)
	}
	for _, name := range []string{resultFile, batchesFile, logFile} {
		want, err := os.ReadFile(filepath.Join(from.Dir(archivedID), name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(to.Dir(archivedID), name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is %q (%v), want %q", name, got, err, want)
		}
	}
	if _, err := to.Import(bytes.NewReader(b.Bytes()), good); !errors.Is(err, run.ErrConflict) {
		t.Errorf("imported twice: %v", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(to.Dir(archivedID))); err != nil || len(entries) != 1 {
		t.Errorf("left are %v, %v", entries, err)
	}
}

// A file of batches that ends within a record is exported up to that record.
func TestExportOfATornFile(t *testing.T) {
	t.Parallel()
	from, to := whole(t), Open(t.TempDir())
	file := filepath.Join(from.Dir(archivedID), batchesFile)
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(bytes.Clone(want), want[len(wire.RecordsHead):len(want)-7]...), 0o600); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := from.Export(archivedID, &b); err != nil {
		t.Fatal(err)
	}
	if _, err := to.Import(&b, good); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(to.Dir(archivedID), batchesFile)); err != nil || !bytes.Equal(got, want) {
		t.Errorf("imported are %q, %v; want %q", got, err, want)
	}
}

// entry is a file of a forged archive.
type entry struct {
	tar.Header
	data string
}

func forge(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for _, e := range entries {
		if e.Typeflag == 0 {
			e.Typeflag, e.Size = tar.TypeReg, int64(len(e.data))
		}
		if err := w.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// B5: what is no archive of a run is refused, and nothing of it stays.
func TestBadArchives(t *testing.T) {
	t.Parallel()
	from := whole(t)
	file := func(name string) string {
		b, err := os.ReadFile(filepath.Join(from.Dir(archivedID), name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	result, batches := file(resultFile), file(batchesFile)
	var ok bytes.Buffer
	if err := from.Export(archivedID, &ok); err != nil {
		t.Fatal(err)
	}
	of := func(name, data string) entry { return entry{tar.Header{Name: name, Mode: 0o600}, data} }
	in := func(name, data string) entry { return of(archivedID+"/"+name, data) }
	special := func(kind byte, link string) entry {
		return entry{tar.Header{Name: archivedID + "/" + logFile, Typeflag: kind, Linkname: link}, ""}
	}
	r, b := in(resultFile, result), in(batchesFile, batches)
	for name, bad := range map[string][]byte{
		"nothing":               nil,
		"no zstd":               []byte(strings.Repeat("hello", 1000)),
		"no tar":                forge(t)[:3],
		"empty":                 forge(t),
		"half":                  ok.Bytes()[:ok.Len()/2],
		"no batches":            forge(t, r),
		"no result":             forge(t, b),
		"up":                    forge(t, r, b, of("../x", "x")),
		"up from within":        forge(t, r, b, in("../../x", "x")),
		"absolute":              forge(t, r, b, of("/tmp/x", "x")),
		"another file":          forge(t, r, b, in("owner", "1")),
		"a file in no folder":   forge(t, of(resultFile, result), b),
		"a folder that is none": forge(t, of("runs/"+resultFile, result), b),
		"two runs":              forge(t, r, b, of("20260102-030405-bbbbbb/"+logFile, "x")),
		"twice":                 forge(t, r, b, b),
		"another case":          forge(t, r, b, in("Batches", batches)),
		"a symbolic link":       forge(t, r, b, special(tar.TypeSymlink, "/etc/passwd")),
		"a hard link":           forge(t, r, b, special(tar.TypeLink, archivedID+"/"+resultFile)),
		"a device":              forge(t, r, b, special(tar.TypeChar, "")),
		"a folder":              forge(t, r, b, special(tar.TypeDir, "")),
		"a pipe":                forge(t, r, b, special(tar.TypeFifo, "")),
		"a huge result":         forge(t, in(resultFile, strings.Repeat(" ", maxResult+1)+result), b),
		"a bomb":                forge(t, r, b, in(logFile, strings.Repeat("\x00", 40<<20))),
		"another run's result":  forge(t, in(resultFile, strings.Replace(result, archivedID, "20260102-030405-bbbbbb", 1)), b),
		"another format":        forge(t, in(resultFile, strings.Replace(result, run.Format, "gobench.result/9", 1)), b),
		"no JSON":               forge(t, in(resultFile, "{"), b),
		"a batch that is cut":   forge(t, r, in(batchesFile, batches[:len(batches)-1])),
		"a batch that is wrong": forge(t, r, in(batchesFile, batches[:len(batches)-1]+"x")),
		"batches of nothing":    forge(t, r, in(batchesFile, "x")),
	} {
		dir := t.TempDir()
		to := Open(filepath.Join(dir, "runs"))
		if _, err := to.Import(bytes.NewReader(bad), good); !errors.Is(err, run.ErrArchive) {
			t.Errorf("%s: %v", name, err)
		}
		left, err := filepath.Glob(filepath.Join(dir, "*", "*"))
		hidden, err2 := filepath.Glob(filepath.Join(dir, "*", ".*"))
		if err != nil || err2 != nil || len(left)+len(hidden) > 0 {
			t.Errorf("%s: left are %v %v", name, left, hidden)
		}
	}
}
