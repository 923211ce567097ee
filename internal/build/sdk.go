package build

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/mod/modfile"
)

// sdkPath is the module that scenarios import. The published /v2 path has the same
// packages; imports of it are rewritten before they are compiled.
const (
	sdkPath    = "github.com/gobench-io/gobench"
	sdkV2      = sdkPath + "/v2"
	sdkVersion = "v0.0.0"
)

//go:embed deps.tar.gz
var deps []byte

// SDK is the source that scenarios are compiled with.
type SDK struct {
	// Sources holds gobench's own packages by their path in the module: clients, dis,
	// executor and what these import. Its tests and testdata are ignored.
	Sources fs.FS
	// Deps is the archive of the packages' dependencies, made by internal/build/bundle.
	Deps []byte
}

// NewSDK returns the SDK of sources and the embedded dependencies.
func NewSDK(sources fs.FS) SDK { return SDK{Sources: sources, Deps: deps} }

// sdkFiles are the SDK's files, read once: gobench's own by name, and its go.mod.
type sdkFiles struct {
	id      string // sha256 of everything in the SDK
	names   []string
	sources map[string][]byte
	mod     *modfile.File // the SDK's own: every dependency is in the archive
	deps    []byte
}

// load reads all files of the SDK into memory, tests and testdata excepted. Its result must
// not be changed.
func (s SDK) load() (*sdkFiles, error) {
	f := &sdkFiles{sources: map[string][]byte{}, deps: s.Deps}
	h := sha256.New()
	err := fs.WalkDir(s.Sources, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return fs.SkipDir
		case d.IsDir() || !d.Type().IsRegular() || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		data, err := fs.ReadFile(s.Sources, name)
		if err != nil {
			return err
		}
		f.names = append(f.names, name)
		f.sources[name] = data
		hashPart(h, name, data)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the SDK's sources: %w", err)
	}
	hashPart(h, "deps", s.Deps)
	f.id = hex.EncodeToString(h.Sum(nil))
	if f.mod, err = sdkMod(s.Deps); err != nil {
		return nil, fmt.Errorf("read the SDK's dependencies: %w", err)
	}
	return f, nil
}

// sdkMod reads the SDK's go.mod. It is the archive's first entry, so a cached build
// decompresses no more than that. It returns an error if another file is the first.
func sdkMod(deps []byte) (*modfile.File, error) {
	var found *modfile.File
	err := eachDep(deps, func(name string, r io.Reader) error {
		if name != "gobench/go.mod" {
			return fmt.Errorf("the archive begins with %s, not gobench/go.mod", name)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if found, err = modfile.Parse(name, data, nil); err != nil {
			return err
		}
		return io.EOF // stops the iteration
	})
	if found == nil && err == nil {
		err = errors.New("the archive is empty")
	}
	return found, err
}

// eachDep calls f for each file of the archive, in its order, and returns nil at its end.
// It ends with f's first error, which it returns unless that is io.EOF, and returns an
// error if the archive is damaged. Names are slashed and valid (fs.ValidPath). r is only
// valid during the call.
func eachDep(deps []byte, f func(name string, r io.Reader) error) error {
	zr, err := gzip.NewReader(bytes.NewReader(deps))
	if err != nil {
		return err
	}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !fs.ValidPath(h.Name) {
			return fmt.Errorf("bad name in the archive: %q", h.Name)
		}
		if err := f(h.Name, tr); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// packages returns the names of the SDK's packages that a scenario may import, by import
// path: those that are not internal.
func (f *sdkFiles) packages() map[string]string {
	names := map[string]string{}
	for _, file := range f.names {
		dir := path.Dir(file)
		if path.Ext(file) != ".go" || dir == "internal" || strings.HasPrefix(dir, "internal/") {
			continue
		}
		if p := sdkPath + "/" + dir; names[p] == "" {
			names[p] = packageName(f.sources[file])
		}
	}
	return names
}

// hashPart adds a named part, so that different lists of parts have different hashes.
func hashPart(w io.Writer, name string, data []byte) {
	fmt.Fprintf(w, "%d %s %d\n", len(name), name, len(data))
	_, _ = w.Write(data) // writing to a hash does not fail
}
