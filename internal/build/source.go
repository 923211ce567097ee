package build

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// tree reads a user's files below one directory, the root of their module. Files outside of
// it cannot be read, neither by a link nor by a name.
type tree struct {
	root    *os.Root
	dir     string // the scenario's package: slashed, relative to root
	display string // dir as shown in messages
}

// place is where a scenario was found.
type place struct {
	dir  string // of the package, absolute, links resolved
	file string // the only file of the package; "" means all
	show string // dir as shown in messages
}

// find resolves the path of a source. It returns an *InputError if nothing is there or it
// cannot be a scenario: not a .go file, a test, or not a regular file. It does not look
// into a directory.
func find(src Source) (place, error) {
	as := src.As
	if as == "" {
		as = src.Path
	}
	refuse := func(problem, fix string) error {
		return &InputError{File: as, Problem: problem, Fix: fix}
	}
	abs, err := filepath.Abs(src.Path)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return place{}, refuse("no such file or directory", "name a .go file or a directory; gobench init DIR writes a first one")
	}
	if err != nil {
		return place{}, err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return place{}, err
	}
	name := filepath.Base(abs)
	switch {
	case info.IsDir():
		return place{dir: abs, show: filepath.Clean(as)}, nil
	case !info.Mode().IsRegular():
		return place{}, refuse("not a regular file", "name a .go file or a directory")
	case strings.HasSuffix(name, "_test.go"):
		return place{}, refuse("a test file is not a scenario", "rename it: the go command leaves out files that end in _test.go")
	case filepath.Ext(name) != ".go":
		return place{}, refuse("not a Go file", "a scenario ends in .go")
	}
	return place{dir: filepath.Dir(abs), file: name, show: filepath.Dir(filepath.Clean(as))}, nil
}

// moduleAbove returns the nearest directory above dir, an absolute path, that has a go.mod, up
// to the repository's root and at most 16 levels up; "" if it finds none. It does not look
// into dir itself, except for .git.
func moduleAbove(dir string) string {
	for range 16 {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return ""
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
		if info, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil && info.Mode().IsRegular() {
			return dir
		}
	}
	return ""
}

// openTree opens root for reading; the scenario's package is at dir, which must be root or
// below it, and shown as show. The caller must close the tree's root.
func openTree(root, dir, show string) (*tree, error) {
	rel, err := filepath.Rel(root, dir)
	if err != nil {
		return nil, err
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	return &tree{root: r, dir: filepath.ToSlash(rel), display: show}, nil
}

// shown returns a file's name for messages, printable; name is slashed and relative to the
// root.
func (t *tree) shown(name string) string {
	rel, err := filepath.Rel(filepath.FromSlash(t.dir), filepath.FromSlash(name))
	if err != nil {
		return name
	}
	return printable(filepath.Join(t.display, rel))
}

// read returns the content of a regular file of at most limit bytes; name is slashed and
// relative to the root. The error wraps fs.ErrNotExist if it does not exist, and is an
// *InputError if the file is larger, of another kind or cannot be opened.
func (t *tree) read(name string, limit int64) ([]byte, error) {
	refuse := func(field, problem, fix string) error {
		return &InputError{File: t.shown(name), Field: field, Problem: problem, Fix: fix}
	}
	local := filepath.FromSlash(name)
	info, err := t.root.Stat(local)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return nil, refuse("", "cannot be read: "+reason(err), "a scenario's files are regular files below its go.mod")
	}
	if !info.Mode().IsRegular() {
		return nil, refuse("", "not a regular file", "a scenario's files are regular files below its go.mod")
	}
	tooBig := func(n int64) error {
		return refuse("size", fmt.Sprintf("%d bytes, more than %s", n, bytesText(limit)), "make it smaller, or read it at run time")
	}
	if info.Size() > limit {
		return nil, tooBig(info.Size())
	}
	f, err := t.root.Open(local)
	if err != nil {
		return nil, refuse("", "cannot be read: "+reason(err), "")
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, tooBig(int64(len(data)))
	}
	return data, nil
}

// reason returns the text of an error without the path that os puts before it.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return err.Error()
}

// exists reports whether a file or directory of this name exists.
func (t *tree) exists(name string) bool {
	_, err := t.root.Lstat(filepath.FromSlash(name))
	return err == nil
}

// goFiles lists the Go files of a directory, whatever their build constraints, except tests
// and those that begin with _ or a point: slashed, relative to the root, in order; nil if it
// has no such file. It returns an *InputError if the directory cannot be read, has too many
// files, or has one of another language that the go command would compile or link.
func (t *tree) goFiles(dir string) ([]string, error) {
	entries, err := fs.ReadDir(t.root.FS(), dir)
	if err != nil {
		return nil, &InputError{File: t.shown(dir), Problem: "cannot be read: " + reason(err)}
	}
	var names []string
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") {
			continue
		}
		switch {
		case strings.HasSuffix(name, "_test.go"):
		case path.Ext(name) == ".go":
			names = append(names, path.Join(dir, name))
		case isSource(name):
			return nil, &InputError{File: t.shown(path.Join(dir, name)), Field: "language",
				Problem: "C, assembly and object files are not built into a scenario", Fix: "remove the file, or name the scenario's .go file alone"}
		}
		if len(names) > maxFiles {
			return nil, &InputError{File: t.shown(dir), Problem: fmt.Sprintf("more than %d Go files", maxFiles)}
		}
	}
	return names, nil
}

// isSource reports whether the go command compiles or links a file of this name, by its
// ending.
func isSource(name string) bool {
	switch path.Ext(name) {
	case ".go", ".c", ".cc", ".cpp", ".cxx", ".m", ".f", ".F", ".for", ".f90", ".s", ".S", ".sx", ".swig", ".swigcxx", ".syso":
		return true
	}
	return false
}
