package build

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// mended is a file whose imports were mended: the same number of lines, and a note
// for each change.
type mended struct {
	text  []byte
	notes []note
}

type note struct {
	line int
	text string
}

// edit replaces text[from:to].
type edit struct {
	from, to int
	text     string
}

// mend returns a file that parses with its imports rewritten, and a note for each change:
//
//   - a published /v2 path of the SDK becomes the plain one;
//   - an import that nothing in the file can be using becomes blank in place;
//   - an import that is missing is added behind the package clause, on its line,
//     when exactly one package of Go or the SDK has all the names that are used.
//
// It uses the parser's scopes, without types. If the package of a name is in doubt, it
// changes nothing and leaves the error to the compiler. declared holds the names that the
// file's package declares. src, the text that f was parsed from, is not changed; the result is
// a copy.
func mend(f *goFile, src []byte, declared map[string]bool, known *names) mended {
	m := mender{f: f, src: src, known: known, free: map[string]map[string]bool{}}
	m.collectFree()
	m.readImports()
	m.blankUnused()
	m.addMissing(declared)
	return mended{m.apply(), m.notes}
}

// mender mends one file. The caller sets the fields up to free, an empty map, and calls, each
// once and in this order, collectFree, readImports, blankUnused, addMissing and apply.
type mender struct {
	f     *goFile
	src   []byte
	known *names

	// free are the names that the file uses and does not declare, each with the names
	// selected from it.
	free map[string]map[string]bool

	imports []imported
	dot     bool // a dot import: any free name may come from it
	edits   []edit
	notes   []note
}

// imported is an import that binds a name in the file.
type imported struct {
	spec *ast.ImportSpec
	path string
	name string // "" if only the package itself would show it
}

// collectFree fills free. The parser resolved the names that the file's own scopes declare;
// the rest are the package's, an import's, or missing.
func (m *mender) collectFree() {
	unresolved := map[*ast.Ident]bool{}
	for _, id := range m.f.ast.Unresolved {
		unresolved[id] = true
		if m.free[id.Name] == nil {
			m.free[id.Name] = map[string]bool{}
		}
	}
	ast.Inspect(m.f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if id, ok := sel.X.(*ast.Ident); ok && unresolved[id] {
			m.free[id.Name][sel.Sel.Name] = true
		}
		return true
	})
}

// readImports lists the imports that bind a name, and rewrites /v2 paths.
func (m *mender) readImports() {
	for _, spec := range m.f.ast.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		if rest, ok := strings.CutPrefix(path, sdkV2); ok && (rest == "" || rest[0] == '/') {
			plain := sdkPath + rest
			m.replace(spec.Path.Pos(), spec.Path.End(), strconv.Quote(plain))
			m.note(spec.Pos(), fmt.Sprintf("import %q is read as %q", path, plain))
			path = plain
		}
		in := imported{spec: spec, path: path}
		switch {
		case spec.Name == nil:
			in.name = m.known.of(path)
		case spec.Name.Name == "_":
			continue
		case spec.Name.Name == ".":
			m.dot = true
			continue
		default:
			in.name = spec.Name.Name
		}
		m.imports = append(m.imports, in)
	}
}

// unclaimed reports whether a free name that is selected from may be that of a package
// whose name is unknown: no import has it, and Go does not predeclare it. It needs what
// collectFree and readImports have found.
func (m *mender) unclaimed() bool {
	claimed := map[string]bool{}
	for _, in := range m.imports {
		claimed[in.name] = true
	}
	for name, uses := range m.free {
		if len(uses) > 0 && !claimed[name] && types.Universe.Lookup(name) == nil {
			return true
		}
	}
	return false
}

// blankUnused makes the imports blank whose name the file does not use. One whose name is
// unknown stays if a name that is used may be its. The caller must call collectFree and
// readImports before, and blankUnused once.
func (m *mender) blankUnused() {
	doubt := m.unclaimed()
	for _, in := range m.imports {
		switch {
		case in.name == "" && doubt:
			continue
		case in.name != "" && m.free[in.name] != nil:
			continue
		}
		if in.spec.Name != nil {
			m.replace(in.spec.Name.Pos(), in.spec.Name.End(), "_")
		} else {
			m.replace(in.spec.Path.Pos(), in.spec.Path.Pos(), " _ "[m.spaced(in.spec.Path.Pos()):])
		}
		m.note(in.spec.Pos(), fmt.Sprintf("import %q is not used: made blank", in.path))
	}
}

// addMissing adds imports for free names that are selected from and that exactly one package
// of Go or the SDK can have. It adds none if there is a dot import, or an import whose name
// cannot be guessed: that may bind them. It needs what collectFree and readImports have found.
func (m *mender) addMissing(declared map[string]bool) {
	if m.dot {
		return
	}
	have := map[string]bool{}
	for _, in := range m.imports {
		if in.name != "" {
			have[in.name] = true
			continue
		}
		// A package of unknown name gets the name that its path suggests, if that is used;
		// if not, every free name may be its.
		guess := likelyName(in.path)
		if m.free[guess] == nil {
			return
		}
		have[guess] = true
	}
	var add strings.Builder
	for _, name := range slices.Sorted(maps.Keys(m.free)) {
		uses := m.free[name]
		if len(uses) == 0 || have[name] || declared[name] || types.Universe.Lookup(name) != nil {
			continue
		}
		path, ok := m.known.only(name, uses)
		if !ok || path == netHTTP && !constants(uses) {
			continue
		}
		fmt.Fprintf(&add, "; import %q", path)
		m.note(m.f.ast.Package, fmt.Sprintf("import %q is missing: added", path))
	}
	end := m.f.ast.Name.End()
	m.replace(end, end, add.String())
}

// netHTTP makes calls that gobench does not measure: it is not added for them, as a scenario that
// lacks an import may well mean gobench's own client of the same name.
const netHTTP = "net/http"

// constants reports whether all names are those of the constants of net/http.
func constants(names map[string]bool) bool {
	for name := range names {
		if !strings.HasPrefix(name, "Status") && !strings.HasPrefix(name, "Method") || name == "StatusText" {
			return false
		}
	}
	return true
}

// replace adds an edit that replaces the text from one position to another, which apply
// does. It ignores an empty text.
func (m *mender) replace(from, to token.Pos, text string) {
	if text == "" {
		return
	}
	file := m.f.fset.File(m.f.ast.FileStart)
	m.edits = append(m.edits, edit{file.Offset(from), file.Offset(to), text})
}

// spaced returns 1 if there is a blank or bracket before pos, and 0 for import"fmt".
func (m *mender) spaced(pos token.Pos) int {
	if at := m.f.fset.File(m.f.ast.FileStart).Offset(pos); m.src[at-1] == 't' {
		return 0
	}
	return 1
}

func (m *mender) note(pos token.Pos, text string) {
	m.notes = append(m.notes, note{m.f.line(pos), printable(text)})
}

// apply returns the text with all edits, and sorts the notes by line. src is not changed.
// Edits must not overlap.
func (m *mender) apply() []byte {
	slices.SortFunc(m.edits, func(a, b edit) int { // an insertion before the text at the same place
		return cmp.Or(a.from-b.from, a.to-b.to)
	})
	slices.SortStableFunc(m.notes, func(a, b note) int { return a.line - b.line })
	var out []byte
	at := 0
	for _, e := range m.edits {
		out = append(append(out, m.src[at:e.from]...), e.text...)
		at = e.to
	}
	return append(out, m.src[at:]...)
}
