package master

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// blobs are the files that agents fetch: executors, where the compiler keeps them, and
// files of scenarios, which are laid out in a folder by their digests.
type blobs struct {
	dir string

	mu   sync.Mutex
	path map[string]string // by digest, guarded by mu
}

func newBlobs(dir string) (*blobs, error) {
	dir, err := private(dir)
	return &blobs{dir: dir, path: map[string]string{}}, err
}

// add makes an executor known.
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

// files lays a scenario's files out. Go files are the compiler's: no executor needs them.
func (b *blobs) files(all []run.File) (out []*agentpb.Blob, err error) {
	for _, f := range all {
		if filepath.Ext(f.Path) == ".go" {
			continue
		}
		sum := sha256.Sum256(f.Data)
		digest := hex.EncodeToString(sum[:])
		path := filepath.Join(b.dir, digest)
		if info, err := os.Stat(path); err != nil || info.Size() != int64(len(f.Data)) {
			if err := os.WriteFile(path+".new", f.Data, 0o600); err != nil {
				return nil, err
			}
			if err := os.Rename(path+".new", path); err != nil {
				return nil, err
			}
		}
		b.mu.Lock()
		b.path[digest] = path
		b.mu.Unlock()
		out = append(out, &agentpb.Blob{Sha256: digest, Size: int64(len(f.Data)), Name: f.Path})
	}
	return out, nil
}

// open opens a file that was made known.
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
