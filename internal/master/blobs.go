package master

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/system"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// blobs are the files that agents fetch: executors, in the compiler's cache, and data files
// of scenarios, in a folder of the master under their digests. Executors stay registered after
// their run, data files until files is called for the next one. Methods may be called
// concurrently, but files may not.
type blobs struct {
	dir string

	mu   sync.Mutex
	path map[string]string // by digest
}

func newBlobs(dir string) (*blobs, error) {
	dir, err := private(dir)
	return &blobs{dir: dir, path: map[string]string{}}, err
}

// add registers an executor, which must stay at its path, and returns its description for
// agents. It does not check the digest.
func (b *blobs) add(built Built) (*agentpb.Blob, error) {
	info, err := os.Stat(built.Path)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.path[built.SHA256] = built.Path
	return &agentpb.Blob{Sha256: built.SHA256, Size: info.Size(), Executable: true}, nil
}

// files writes a scenario's data files to the folder, registers them, and returns their
// descriptions in the order of all. Go files are left out: only the compiler needs them. It
// deletes the data files of earlier runs. After an error, files written before stay.
func (b *blobs) files(all []run.File) (out []*agentpb.Blob, err error) {
	for _, f := range all {
		if filepath.Ext(f.Path) == ".go" {
			continue
		}
		sum := sha256.Sum256(f.Data)
		digest := hex.EncodeToString(sum[:])
		path := filepath.Join(b.dir, digest)
		if info, err := os.Stat(path); err != nil || info.Size() != int64(len(f.Data)) {
			if err := system.ReplaceBytes(path, f.Data); err != nil {
				return nil, err
			}
		}
		b.mu.Lock()
		b.path[digest] = path
		b.mu.Unlock()
		out = append(out, &agentpb.Blob{Sha256: digest, Size: int64(len(f.Data)), Name: f.Path})
	}
	b.removeOthers(out)
	return out, nil
}

// removeOthers deletes the files in the folder that are not in used. The next call tries again
// what fails, as on Windows for a file that is open.
func (b *blobs) removeOthers(used []*agentpb.Blob) {
	entries, _ := os.ReadDir(b.dir)
	for _, e := range entries {
		if slices.ContainsFunc(used, func(u *agentpb.Blob) bool { return u.Sha256 == e.Name() }) {
			continue
		}
		b.mu.Lock()
		delete(b.path, e.Name())
		b.mu.Unlock()
		_ = os.RemoveAll(filepath.Join(b.dir, e.Name()))
	}
}

// open opens a registered file by its digest, in hexadecimal. The caller must close it. The
// error wraps run.ErrNotFound if no file has this digest.
func (b *blobs) open(digest string) (Blob, error) {
	b.mu.Lock()
	path := b.path[digest]
	b.mu.Unlock()
	if path == "" {
		return nil, fmt.Errorf("%w: blob %q", run.ErrNotFound, digest)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &file{f, info.Size()}, nil
}

type file struct {
	*os.File
	size int64
}

func (f *file) Size() int64 { return f.size }
