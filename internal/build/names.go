package build

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// names maps packages to their names, and exported names to packages: Go's own from the
// toolchain's sources, the SDK's, and the user's.
type names struct {
	tc     toolchain
	sdk    *sdkFiles
	tester map[string]string // the user's own packages: name by import path

	sdkNames map[string]string
	exports  map[string]map[string]bool
}

// newNames returns the names for a project whose packages have been read. It must not be
// used concurrently.
func newNames(tc toolchain, sdk *sdkFiles, p *project) *names {
	n := &names{tc: tc, sdk: sdk, tester: map[string]string{}, exports: map[string]map[string]bool{}}
	for _, pkg := range p.packages {
		if pkg.path != "" {
			n.tester[pkg.path] = pkg.name
		}
	}
	return n
}

// of returns the name that importing a path binds, by the user's, the SDK's and Go's
// packages; "" if only the package itself, which is not available, would show it.
func (n *names) of(target string) string {
	if name := n.tester[target]; name != "" {
		return name
	}
	if inSDK(target) {
		return n.sdkPackages()[target]
	}
	if isStd(target, n.tc) {
		return likelyName(target)
	}
	return ""
}

// sdkPackages returns the SDK's packages: name by import path. The caller must not change
// it.
func (n *names) sdkPackages() map[string]string {
	if n.sdkNames == nil {
		n.sdkNames = n.sdk.packages()
	}
	return n.sdkNames
}

// only returns the import path of the single package of Go or the SDK that has this name
// and exports all the uses; false if several or no packages do.
func (n *names) only(name string, uses map[string]bool) (string, bool) {
	var found []string
	for _, target := range stdPackages {
		if likelyName(target) == name && n.hasAll(target, uses) {
			found = append(found, target)
		}
	}
	for target, called := range n.sdkPackages() {
		if called == name && n.hasAll(target, uses) {
			found = append(found, target)
		}
	}
	if len(found) != 1 {
		return "", false
	}
	return found[0], true
}

// hasAll reports whether a package of Go or the SDK exports all the uses.
func (n *names) hasAll(target string, uses map[string]bool) bool {
	have, ok := n.exports[target]
	if !ok {
		if dir, inside := strings.CutPrefix(target, sdkPath+"/"); inside {
			have = n.sdkExports(dir)
		} else {
			have = exportsOf(os.DirFS(filepath.Join(n.tc.Root, "src", filepath.FromSlash(target))))
		}
		n.exports[target] = have
	}
	for use := range uses {
		if !have[use] {
			return false
		}
	}
	return true
}

// sdkExports returns the exported names of the SDK's package in a directory of its module.
func (n *names) sdkExports(dir string) map[string]bool {
	have := map[string]bool{}
	for _, name := range n.sdk.names {
		if path.Dir(name) == dir && path.Ext(name) == ".go" {
			addExports(have, n.sdk.sources[name])
		}
	}
	return have
}

// exportsOf returns the exported names of the Go files of a directory, for all platforms,
// without tests. Files that cannot be read or parsed have none.
func exportsOf(dir fs.FS) map[string]bool {
	have := map[string]bool{}
	files, _ := fs.Glob(dir, "*.go") // the pattern is valid
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if data, err := fs.ReadFile(dir, name); err == nil {
			addExports(have, data)
		}
	}
	return have
}

// addExports adds the exported names of a Go file, as far as it parses, to have.
func addExports(have map[string]bool, src []byte) {
	f, _ := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
	if f == nil {
		return
	}
	for name := range declared(f) {
		if ast.IsExported(name) {
			have[name] = true
		}
	}
}

// likelyName returns the package name that an import path suggests: its last element, or
// the one before a major version, without "go-" and what follows the first sign that a name
// cannot have.
func likelyName(target string) string {
	base := path.Base(target)
	if isMajor(base) && strings.Contains(target, "/") {
		base = path.Base(path.Dir(target))
	}
	if i := strings.LastIndex(base, ".v"); i > 0 && isMajor(base[i+1:]) {
		base = base[:i]
	}
	base = strings.TrimPrefix(base, "go-")
	if i := strings.IndexFunc(base, func(r rune) bool { return !isNameRune(r) }); i > 0 {
		base = base[:i]
	}
	return base
}

// isMajor reports whether s is a "v" and digits: v2, but also v1.
func isMajor(s string) bool {
	return len(s) > 1 && s[0] == 'v' && strings.Trim(s[1:], "0123456789") == ""
}

func isNameRune(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127
}

// packageName returns the name in the package clause of a Go file, or "" if that is not
// valid.
func packageName(src []byte) string {
	f, _ := parser.ParseFile(token.NewFileSet(), "", src, parser.PackageClauseOnly)
	if f == nil || f.Name == nil {
		return ""
	}
	return f.Name.Name
}
