package history

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// Limits of an archive's contents, in bytes, and as a multiple of the archive's own size:
// no result or batch compresses better than that.
const (
	maxResult  = 64 << 20
	maxBatches = 4 << 30
	maxRatio   = 100
	ratioFrom  = 1 << 20 // smaller contents may have any ratio
)

// archived are the files of an archive in their order, each with its maximum size in
// bytes.
var archived = []struct {
	name string
	most int64
}{{resultFile, maxResult}, {batchesFile, maxBatches}, {logFile, maxLog + 1<<10}}

// Export writes the folder of run id to w as an archive: a tar compressed by zstd, with
// ID/result.json, ID/batches and ID/executor.log, as far as they exist. It does not close w.
// The error wraps run.ErrNotFound if there is no such run; that, and a run that is not over,
// are errors before anything is written. After another error w has received a part of the
// archive.
func (h History) Export(id string, w io.Writer) error {
	r, err := h.Load(id)
	if err != nil {
		return err
	}
	if !r.State.Final() {
		return fmt.Errorf("run %s is %s: wait for its end", id, r.State)
	}
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, f := range archived {
		if err := pack(t, id, filepath.Join(h.Dir(id), f.name), r.Created); err != nil {
			return fmt.Errorf("export run %s: %w", id, err)
		}
	}
	return errors.Join(t.Close(), z.Close())
}

// pack adds the file at path to t as ID/NAME, with the size that it has now, or for batches
// that of the complete ones. If it does not exist, pack does nothing and returns nil.
func pack(t *tar.Writer, id, path string, when time.Time) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	if filepath.Base(path) == batchesFile {
		if size, err = complete(f); err != nil {
			return err
		}
	}
	head := &tar.Header{Typeflag: tar.TypeReg, Name: id + "/" + filepath.Base(path), Size: size, Mode: 0o600, ModTime: when.Truncate(time.Second)}
	if err := t.WriteHeader(head); err != nil {
		return err
	}
	_, err = io.Copy(t, io.LimitReader(f, size))
	return err
}

// complete returns the length of the complete records of a file of batches, which may end
// within one, and seeks back to its start. A damaged record is an error that wraps
// wire.ErrRecord.
func complete(f *os.File) (n int64, err error) {
	in := &counter{in: f}
	buffered := bufio.NewReaderSize(in, 64<<10)
	records, err := wire.OpenRecords(buffered)
	for err == nil {
		n = in.n - int64(buffered.Buffered())
		_, _, err = records.Next()
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, fmt.Errorf("%s: %w", f.Name(), err)
	}
	_, err = f.Seek(0, io.SeekStart)
	return n, err
}

// Import reads an archive that Export wrote and adds its run to the history, if check returns
// nil for a history that has only this run. It returns the run's result. The error wraps
// run.ErrArchive if in is not such an archive, and run.ErrConflict if the history has the run
// already; an error of check is returned as it is. After an error the history is unchanged.
func (h History) Import(in io.Reader, check func(staged History, id string) error) (*run.Result, error) {
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return nil, err
	}
	stage, err := os.MkdirTemp(h.dir, ".import-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(stage)
	id, err := unpack(in, stage)
	if err != nil {
		return nil, err
	}
	staged := Open(stage)
	r, err := staged.examine(id)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", run.ErrArchive, err)
	}
	if err := check(staged, id); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(h.Dir(id)); err == nil {
		return nil, fmt.Errorf("%w: run %s exists already", run.ErrConflict, id)
	}
	return r, os.Rename(staged.Dir(id), h.Dir(id))
}

// OpenLog opens the log of what the executors of run id, a valid id, printed. The caller must
// close it. The error wraps fs.ErrNotExist if there is no log: an archive need not have one.
func (h History) OpenLog(id string) (*os.File, error) {
	return os.Open(filepath.Join(h.Dir(id), logFile))
}

// examine reads and returns the result of run id, and reads all its batches to check their
// format. It is an error if the result is of another run or not final, or if there are no
// batches or one is damaged or cut off.
func (h History) examine(id string) (*run.Result, error) {
	r, err := h.Load(id)
	if err != nil {
		return nil, err
	}
	if r.ID != id || !r.State.Final() {
		return nil, fmt.Errorf("the folder of %s has the result of run %q, which is %s", id, r.ID, r.State)
	}
	f, err := os.Open(filepath.Join(h.Dir(id), batchesFile))
	if err != nil {
		return nil, errors.New("it has no batches")
	}
	defer f.Close()
	records, err := wire.OpenRecords(bufio.NewReaderSize(f, 64<<10))
	if err != nil {
		return nil, err
	}
	for {
		if _, _, err := records.Next(); errors.Is(err, io.EOF) {
			return r, nil
		} else if err != nil { // also if the file ends within a record
			return nil, fmt.Errorf("batches: %w", err)
		}
	}
}

// unpack writes an archive's files below dir, in a folder named after the run's id, and
// returns the id. The error wraps run.ErrArchive if the archive is not valid or too large, and
// not if reading it or writing fails. After an error dir may have some of the files.
func unpack(in io.Reader, dir string) (id string, err error) {
	packed := &counter{in: in}
	z, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20), zstd.WithDecoderLowmem(true))
	if err != nil {
		return "", err
	}
	defer z.Close()
	t := tar.NewReader(&ratioReader{in: z, packed: packed})
	var seen []string
	for {
		head, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", refused(packed, err)
		}
		folder, name, _ := strings.Cut(head.Name, "/")
		at := slices.IndexFunc(archived, func(f struct {
			name string
			most int64
		}) bool {
			return f.name == name
		})
		switch {
		case !run.ValidID(folder) || id != "" && folder != id || at < 0:
			return "", fmt.Errorf("%w: it has a file %q", run.ErrArchive, head.Name)
		case head.Typeflag != tar.TypeReg || slices.ContainsFunc(slices.Collect(maps.Keys(head.PAXRecords)), sparse):
			return "", fmt.Errorf("%w: %s is not a regular file", run.ErrArchive, head.Name)
		case slices.Contains(seen, name):
			return "", fmt.Errorf("%w: it has %s twice", run.ErrArchive, head.Name)
		case head.Size > archived[at].most:
			return "", fmt.Errorf("%w: %s has %d bytes, more than %d", run.ErrArchive, head.Name, head.Size, archived[at].most)
		}
		if id == "" {
			if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
				return "", err
			}
		}
		id, seen = folder, append(seen, name)
		f, err := os.OpenFile(filepath.Join(dir, folder, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		to := &output{f: f}
		_, err = io.Copy(to, t)
		err = errors.Join(err, f.Sync(), f.Close())
		if to.err != nil {
			return "", to.err // not an error of the archive
		}
		if err != nil {
			return "", refused(packed, err)
		}
	}
	if id == "" {
		return "", fmt.Errorf("%w: it is empty", run.ErrArchive)
	}
	return id, nil
}

// sparse reports whether a header's record is of a file with holes, which is larger on disk
// than in the archive.
func sparse(key string) bool { return strings.HasPrefix(key, "GNU.sparse") }

// refused returns the error of reading the archive if there was one, and otherwise err as an
// error of the archive, which wraps run.ErrArchive.
func refused(packed *counter, err error) error {
	if packed.err != nil && !errors.Is(packed.err, io.EOF) {
		return fmt.Errorf("read the archive: %w", packed.err)
	}
	return fmt.Errorf("%w: %w", run.ErrArchive, err)
}

// counter counts the bytes that are read of an archive and stores the last error. Like
// ratioReader and output, it implements an interface of package io.
type counter struct {
	in  io.Reader
	n   int64
	err error
}

// Read reads from in, counts the bytes, and stores the error, also nil, in err.
func (c *counter) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	c.n += int64(n)
	c.err = err
	return n, err
}

// ratioReader reads the contents of an archive. It fails when they are more than ratioFrom, and
// more than maxRatio times as large as what was read of the archive.
type ratioReader struct {
	in     io.Reader
	packed *counter
	n      int64
}

// Read reads from in. Beyond the limits of ratioReader it returns 0 and an error.
func (r *ratioReader) Read(b []byte) (int, error) {
	n, err := r.in.Read(b)
	if r.n += int64(n); r.n > ratioFrom && r.n > maxRatio*r.packed.n {
		return 0, fmt.Errorf("it unpacks to more than %d times its size", maxRatio)
	}
	return n, err
}

// output is a file that records its errors, to distinguish them from those of the reader
// that is copied to it.
type output struct {
	f   *os.File
	err error
}

// Write writes b to the file, and stores an error in err.
func (t *output) Write(b []byte) (int, error) {
	n, err := t.f.Write(b)
	if err != nil {
		t.err = err
	}
	return n, err
}
