package build

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
)

// project is a private copy of all files of the user that a build reads: the scenario's
// package, the packages of the same module (or of its vendor directory) that it imports,
// embedded files, go.mod and go.sum. The go command sees only this copy, so the cache's key
// covers exactly what is compiled, and the user's files are not touched. readProject returns a
// project, on which mend, addMain and complete are called in this order; the other methods
// that read files are its own, and must not be called after it.
type project struct {
	*tree
	files    map[string][]byte // of the copy, by slashed name; mended in place
	packages []*pkg            // the scenario's first
	mod      *modfile.File     // nil if the user has no go.mod
	sum      []byte
	home     string   // the directory of the file only; "" without one
	only     string   // the scenario is this one file of its directory; "" means all of it
	external []string // imports from modules that are neither gobench's nor the user's
	notes    []string

	local    []localModule
	vendored []vendored
	sources  int64
	embedded int64
}

// localModule is a module whose source is below the root: the user's own, or one that a
// replace line refers to.
type localModule struct {
	path, dir string
	vendored  bool
}

// pkg is one of the user's packages.
type pkg struct {
	dir      string
	path     string // of its import; "" for the scenario's
	name     string // from the package clause
	files    []*goFile
	vendored bool // of another module: not mended
}

// goFile is a parsed file. ast is the part that could be parsed; err is why the rest could
// not.
type goFile struct {
	name string
	fset *token.FileSet
	ast  *ast.File
	err  error
}

// line returns the line of pos in the file itself, ignoring //line comments.
func (f *goFile) line(pos token.Pos) int { return f.fset.PositionFor(pos, false).Line }

// readProject reads a scenario and all files of the user that it needs into a copy in
// memory. No further file can be read with it. The error is an *InputError if a file is
// refused; the project is then nil or incomplete.
func readProject(src Source, tc toolchain) (*project, error) {
	at, err := find(src)
	if err != nil {
		return nil, err
	}
	p, err := newProject(at, at.dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.root.Close() }()
	main, err := p.readMain(at)
	if err != nil {
		return nil, err
	}
	if p.exists("go.mod") {
		return p, p.readAll(main, tc)
	}
	if p.needsModule(main, tc) {
		if root := moduleAbove(at.dir); root != "" && !isGobench(root) {
			above, err := newProject(at, root)
			if err != nil {
				return nil, err
			}
			defer func() { _ = above.root.Close() }()
			if main, err = above.readMain(at); err != nil {
				return nil, err
			}
			return above, above.readAll(main, tc)
		}
	}
	return p, p.readImports(main, tc)
}

// newProject returns a project without files, of the scenario at, in the module whose
// directory is root. The caller must close its root.
func newProject(at place, root string) (*project, error) {
	t, err := openTree(root, at.dir, at.show)
	if err != nil {
		return nil, err
	}
	return &project{tree: t, files: map[string][]byte{}}, nil
}

// isGobench reports whether root contains gobench itself: its example scenarios have no
// module of their own. It returns false without a go.mod.
func isGobench(root string) bool {
	data, err := os.ReadFile(filepath.Join(root, "go.mod"))
	return err == nil && isSDK(modfile.ModulePath(data))
}

// readMain reads the scenario's own package, or its one file, and returns it. It returns an
// *InputError if the directory has no Go files.
func (p *project) readMain(at place) (*pkg, error) {
	if at.file == "" {
		names, err := p.goFiles(p.dir)
		if err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, &InputError{File: p.shown(p.dir), Problem: "no Go files in this directory", Fix: "name a scenario; gobench init DIR writes a first one"}
		}
		return p.readPackage(p.dir, names)
	}
	p.only, p.home = at.file, at.dir
	return p.readPackage(p.dir, []string{path.Join(p.dir, at.file)})
}

// readAll reads go.mod, which must exist, go.sum and the modules that go.mod refers to by a
// directory, then the user's packages. The error is an *InputError if a file is refused.
func (p *project) readAll(main *pkg, tc toolchain) error {
	data, err := p.read("go.mod", maxMod)
	if err != nil {
		return err
	}
	if p.mod, err = checkMod(p.shown("go.mod"), data, tc.Version); err != nil {
		return err
	}
	p.sum, err = p.read("go.sum", maxSum)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	p.local = append(p.local, localModule{path: p.mod.Module.Mod.Path, dir: "."})
	for _, r := range p.mod.Replace {
		if r.New.Version != "" || isSDK(r.Old.Path) || forEditor(r) {
			continue
		}
		dir := path.Clean(filepath.ToSlash(r.New.Path))
		name := path.Join(dir, "go.mod")
		data, err := p.read(name, maxMod)
		if errors.Is(err, fs.ErrNotExist) {
			return &InputError{File: p.shown("go.mod"), Line: lineOf(r.Syntax), Field: "replace", Problem: r.New.Path + " has no go.mod", Fix: "correct the path"}
		}
		if err != nil {
			return err
		}
		p.files[name] = data
		p.local = append(p.local, localModule{path: r.Old.Path, dir: dir})
	}
	if err := p.readVendor(); err != nil {
		return err
	}
	return p.readImports(main, tc)
}

// readImports reads the user's packages that main imports, directly or not, and sets
// packages and external. It returns an *InputError for import "C", and if a file is
// refused. Imports that it does not find are in external.
func (p *project) readImports(main *pkg, tc toolchain) error {
	seen := map[string]bool{p.dir: true}
	p.packages = []*pkg{main}
	for i := 0; i < len(p.packages); i++ {
		for _, f := range p.packages[i].files {
			for _, spec := range f.ast.Imports {
				target, _ := strconv.Unquote(spec.Path.Value) // checked by the parser
				if target == "C" && !p.packages[i].vendored {
					return &InputError{File: p.shown(f.name), Line: f.line(spec.Pos()), Field: `import "C"`,
						Problem: "cgo is off: a scenario is pure Go, so that it runs on every agent", Fix: "use a Go package"}
				}
				dir, foreign, ok := p.localDir(target)
				if !ok {
					if !isStd(target, tc) && !inSDK(target) && !slices.Contains(p.external, target) {
						p.external = append(p.external, target)
					}
					continue
				}
				if seen[dir] {
					continue
				}
				seen[dir] = true
				next, err := p.readLocal(dir, foreign)
				if err != nil {
					return err
				}
				next.path = target
				p.packages = append(p.packages, next)
			}
		}
	}
	slices.Sort(p.external)
	return nil
}

// readLocal reads the package of a directory, as readPackage does; foreign means that it is
// vendored.
func (p *project) readLocal(dir string, foreign bool) (*pkg, error) {
	if foreign {
		return p.readVendored(dir)
	}
	names, err := p.goFiles(dir)
	if err != nil {
		return nil, err
	}
	return p.readPackage(dir, names)
}

// localDir returns the directory of an import path of the user's modules, slashed and
// relative to the root, and whether it is a vendored one. ok is false if no such directory
// exists or another module has it.
func (p *project) localDir(target string) (dir string, foreign, ok bool) {
	best := -1
	for i, m := range p.local {
		if (target == m.path || strings.HasPrefix(target, m.path+"/")) && (best < 0 || len(m.path) > len(p.local[best].path)) {
			best = i
		}
	}
	if best < 0 {
		return "", false, false
	}
	m := p.local[best]
	dir = path.Join(m.dir, strings.TrimPrefix(target, m.path))
	if info, err := p.root.Stat(filepath.FromSlash(dir)); err != nil || !info.IsDir() {
		return "", false, false // the go command's error is better
	}
	for d := dir; d != m.dir && d != "."; d = path.Dir(d) {
		if p.exists(path.Join(d, "go.mod")) {
			return "", false, false // another module
		}
	}
	return dir, m.vendored, true
}

// readPackage reads and parses files of one directory, and what they embed, into the copy; dir
// and names are slashed and relative to the root. Files that do not parse are no error. It
// returns an *InputError if one is refused, or if all files of the copy are too many or too
// large.
func (p *project) readPackage(dir string, names []string) (*pkg, error) {
	out := &pkg{dir: dir}
	for _, name := range names {
		data, err := p.read(name, maxSource)
		if err != nil {
			return nil, err
		}
		if p.sources += int64(len(data)); p.sources > maxSources {
			return nil, &InputError{File: p.shown(dir), Field: "size", Problem: "Go files of more than " + bytesText(maxSources) + " together", Fix: "make the scenario smaller"}
		}
		p.files[name] = data
		f := parse(name, data)
		out.files = append(out.files, f)
		if out.name == "" && f.ast.Name != nil {
			out.name = f.ast.Name.Name
		}
		if err := p.readEmbedded(f); err != nil {
			return nil, err
		}
	}
	if len(p.files) > maxFiles {
		return nil, &InputError{File: p.shown(dir), Problem: fmt.Sprintf("more than %d files", maxFiles)}
	}
	return out, nil
}

// parse returns a parsed file; its ast is never nil.
func parse(name string, data []byte) *goFile {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, data, parser.ParseComments)
	if f == nil {
		f = &ast.File{}
	}
	return &goFile{name: name, fset: fset, ast: f, err: err}
}

// needsModule reports whether a file of main imports a package that neither Go nor gobench
// has.
func (p *project) needsModule(main *pkg, tc toolchain) bool {
	for _, f := range main.files {
		for _, spec := range f.ast.Imports {
			if target, err := strconv.Unquote(spec.Path.Value); err == nil && !isStd(target, tc) && !inSDK(target) {
				return true
			}
		}
	}
	return false
}

// isStd reports whether Go itself has the package, by the directories of GOROOT; "C" and
// "unsafe" too.
func isStd(target string, tc toolchain) bool {
	if target == "C" || target == "unsafe" {
		return true
	}
	first, _, _ := strings.Cut(target, "/")
	if strings.Contains(first, ".") || !fs.ValidPath(target) {
		return false
	}
	info, err := os.Stat(filepath.Join(tc.Root, "src", filepath.FromSlash(target)))
	return err == nil && info.IsDir()
}

func inSDK(target string) bool { return target == sdkPath || strings.HasPrefix(target, sdkPath+"/") }
