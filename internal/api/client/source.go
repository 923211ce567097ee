package client

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gobench-io/gobench/internal/run"
)

// MaxSource is the largest size of a scenario with its files that a master takes, in bytes.
const MaxSource = 8 << 20

// ReadSource reads the scenario at path, a file or a folder, to be submitted: with its
// go.mod and go.sum, and the files that it embeds or whose names are in its string literals,
// since it may read them when it runs. Only files in or below the scenario's folder are read.
// name is the last element of the absolute path. It returns an error if a file cannot be
// read, all are more than MaxSource, or no file of a folder has export(); what does not
// compile is left to the master.
func ReadSource(path string) (name string, s run.Source, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", s, err
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return "", s, err
	}
	r := &sourceReader{dir: full, files: map[string][]byte{}}
	if !info.IsDir() {
		r.dir, r.main = filepath.Dir(full), filepath.Base(full)
		err = r.goFile(r.main)
	} else {
		err = r.folder()
	}
	if err == nil {
		s, err = r.source()
	}
	return filepath.Base(full), s, err
}

// sourceReader collects a scenario's files by their paths below dir. Make files, call goFile
// or folder, then source once.
type sourceReader struct {
	dir   string
	files map[string][]byte
	main  string // the file with export()
	wrong string // the first file of dir itself that does not parse
	size  int
}

// folder reads all Go files of the folder and below it, except tests, folders named
// testdata, and those whose names begin with a dot or an underscore.
func (r *sourceReader) folder() error {
	return filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != r.dir && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata") {
			return filepath.SkipDir
		}
		if !d.Type().IsRegular() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		below, err := filepath.Rel(r.dir, path)
		if err != nil {
			return err
		}
		return r.goFile(below)
	})
}

// goFile reads a Go file, name below dir, and the files that it names. If main is empty, and
// the file is in dir itself, it sets main if that has export(), or else wrong if it does not
// parse, which is no error.
func (r *sourceReader) goFile(name string) error {
	text, err := r.read(name)
	if err != nil {
		return err
	}
	f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
	if f == nil {
		return err
	}
	if filepath.Dir(name) == "." && r.main == "" {
		if slices.ContainsFunc(f.Decls, isExport) {
			r.main = name
		} else if err != nil && r.wrong == "" {
			r.wrong = name
		}
	}
	var named []string
	ast.Inspect(f, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if s, err := strconv.Unquote(l.Value); err == nil {
				named = append(named, s)
			}
		}
		return true
	})
	for _, group := range f.Comments {
		for _, c := range group.List {
			if patterns, ok := strings.CutPrefix(c.Text, "//go:embed"); ok {
				for _, p := range pattern.FindAllString(patterns, -1) {
					if text, err := strconv.Unquote(p); err == nil {
						p = text
					}
					named = append(named, r.embedded(filepath.Dir(name), p)...)
				}
			}
		}
	}
	for _, at := range named {
		if err := r.data(at); err != nil {
			return err
		}
	}
	return nil
}

// isExport reports whether d declares the function export, where a scenario begins.
func isExport(d ast.Decl) bool {
	fn, ok := d.(*ast.FuncDecl)
	return ok && fn.Recv == nil && fn.Name.Name == "export"
}

// pattern matches an argument of //go:embed: a word or a Go string.
var pattern = regexp.MustCompile("`[^`]*`|\"(?:[^\"\\\\]|\\\\.)*\"|\\S+")

// embedded returns the files, below r.dir, that a pattern of //go:embed in a Go file of the
// folder dir stands for: of a folder all files in it and below, but those whose names begin
// with a dot or an underscore only with all: before the pattern. What can't be read is left
// out: the compiler reports it.
func (r *sourceReader) embedded(dir, pattern string) (files []string) {
	pattern, all := strings.CutPrefix(pattern, "all:")
	in := os.DirFS(filepath.Join(r.dir, dir))
	matches, _ := fs.Glob(in, pattern)
	for _, match := range matches {
		_ = fs.WalkDir(in, match, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
			case path != match && !all && strings.IndexAny(d.Name(), "._") == 0:
				if d.IsDir() {
					return fs.SkipDir
				}
			case !d.IsDir():
				files = append(files, filepath.Join(dir, filepath.FromSlash(path)))
			}
			return nil
		})
	}
	return files
}

// data reads a regular file below the folder that the source names, unless it was read
// already; other texts, and names of folders and of Go files in dir itself, are ignored. Its
// errors are those of read.
func (r *sourceReader) data(name string) error {
	if name == "" || len(name) > 255 || strings.ContainsAny(name, "\n\x00") || !filepath.IsLocal(name) || r.files[filepath.Clean(name)] != nil {
		return nil
	}
	info, err := os.Stat(filepath.Join(r.dir, name))
	if err != nil || !info.Mode().IsRegular() || filepath.Ext(name) == ".go" && filepath.Dir(filepath.Clean(name)) == "." {
		return nil // another text
	}
	_, err = r.read(filepath.Clean(name))
	return err
}

// read reads the file name below dir into files and returns its content. It returns an
// error, and does not store it, if all files are more than MaxSource.
func (r *sourceReader) read(name string) ([]byte, error) {
	info, err := os.Stat(filepath.Join(r.dir, name))
	if err != nil {
		return nil, err
	}
	if r.size += int(info.Size()); info.Size() > MaxSource || r.size > MaxSource {
		return nil, fmt.Errorf("%s: the scenario and its files are more than the %d MB that a master takes", name, MaxSource>>20)
	}
	b, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		return nil, err
	}
	if b == nil {
		b = []byte{}
	}
	r.files[name] = b
	return b, nil
}

// source returns what was read as a source: main, or else wrong, as the scenario, the other
// files sorted by their slashed paths, and the folder's go.mod and go.sum, empty if they do not
// exist. It returns an error if there is neither, or if one of those two exists and cannot be
// read. It removes main from files: call it once.
func (r *sourceReader) source() (s run.Source, err error) {
	if r.main = cmp.Or(r.main, r.wrong); r.main == "" {
		return s, fmt.Errorf("%s: no file there has a function export()", r.dir)
	}
	for name, into := range map[string]*string{"go.mod": &s.GoMod, "go.sum": &s.GoSum} {
		b, err := os.ReadFile(filepath.Join(r.dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
		*into = string(b)
	}
	s.Scenario, s.File = string(r.files[r.main]), r.main
	delete(r.files, r.main)
	for name, data := range r.files {
		s.Files = append(s.Files, run.File{Path: filepath.ToSlash(name), Data: data})
	}
	slices.SortFunc(s.Files, func(a, b run.File) int { return strings.Compare(a.Path, b.Path) })
	return s, nil
}
