package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/testing/repo"
)

// Every Go sample compiles. Samples of declarations or statements are put into a file with the
// imports that they need. All are compiled at once, as an overlay of the tree.
func TestGoSamples(t *testing.T) {
	t.Parallel()
	dir, overlay, n := t.TempDir(), map[string]string{}, 0
	args := []string{"build", "-overlay", filepath.Join(dir, "overlay.json")}
	root := repo.Root(t)
	for _, page := range pages(t) {
		for _, s := range Blocks(t, page) {
			switch s.Kind {
			case "go":
			case "go sketch":
				checkSketch(t, s)
				continue
			default:
				continue
			}
			text, err := compilable(root, s)
			if err != nil {
				t.Errorf("%s: %v", s, err)
				continue
			}
			n++
			name := fmt.Sprintf("sample%d", n)
			file := filepath.Join(dir, name+".go")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			overlay[filepath.Join(root, "docs", name, name+".go")] = file
			args = append(args, "./docs/"+name)
		}
	}
	if n < 4 {
		t.Errorf("only %d Go samples were found", n)
	}
	b, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// known has the packages that samples use without an import.
var known = map[string]string{
	"context": "context", "errors": "errors", "fmt": "fmt", "log": "log", "os": "os", "strconv": "strconv", "strings": "strings", "testing": "testing", "time": "time",
	"data": "executor/data", "dis": "dis", "executor": "executor", "executortest": "executor/executortest", "http": "clients/http", "metrics": "executor/metrics", "scenario": "executor/scenario",
}

// compilable returns a Go file with a sample, whose line numbers are those of its page.
func compilable(root string, s Block) (string, error) {
	at := fmt.Sprintf("//line %s:%d\n", s.Page, s.Line)
	if clause := regexp.MustCompile(`(?m)^package \w+$`).FindStringIndex(s.Text); clause != nil {
		return at + s.Text[:clause[0]] + "package sample" + s.Text[clause[1]:] + s.With, nil
	}
	body := at + s.Text
	if _, err := parser.ParseFile(token.NewFileSet(), "", "package sample\n"+body, 0); err != nil {
		body = "func _(ctx context.Context) {\n" + at + s.Text + "\n}\n" // statements
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", "package sample\n"+body+s.With, 0)
	if err != nil {
		return "", err
	}
	var used []string // variables that a sample may leave unused
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "_" {
			for _, statement := range fn.Body.List {
				if assign, ok := statement.(*ast.AssignStmt); ok && assign.Tok == token.DEFINE {
					for _, left := range assign.Lhs {
						if id, ok := left.(*ast.Ident); ok && id.Name != "_" && !slices.Contains(used, id.Name) {
							used = append(used, id.Name)
						}
					}
				}
			}
		}
	}
	if len(used) > 0 {
		body = strings.TrimSuffix(body, "}\n") + strings.Repeat("_, ", len(used)-1) + "_ = " + strings.Join(used, ", ") + "\n}\n"
	}
	var imports bytes.Buffer
	for _, id := range f.Unresolved {
		path, ok := known[id.Name]
		if ok && !strings.Contains(imports.String(), "\t"+id.Name+" ") {
			if info, err := os.Stat(filepath.Join(root, filepath.FromSlash(path))); err == nil && info.IsDir() {
				path = "github.com/gobench-io/gobench/" + path
			}
			fmt.Fprintf(&imports, "\t%s %q\n", id.Name, path)
		}
	}
	return "package sample\n\nimport (\n" + imports.String() + ")\n\n" + s.With + body, nil
}

// checkSketch compares the declarations of a sketch, which has no bodies, with those of the
// packages that it shows: each name exists, and functions have the same parameters.
func checkSketch(t *testing.T, s Block) {
	fset := token.NewFileSet()
	sketch, err := parser.ParseFile(fset, "", "package sketch\n"+s.Text, parser.SkipObjectResolution)
	if err != nil {
		t.Errorf("%s: %v", s, err)
		return
	}
	have := map[string]string{}
	for _, path := range known {
		files, _ := filepath.Glob(filepath.Join(repo.Path(t, path), "*.go"))
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for name, shape := range shapes(f) {
				have[filepath.Base(path)+"."+name] = shape
			}
		}
	}
	for name, shape := range shapes(sketch) {
		found := false
		for _, pkg := range []string{"scenario", "executor", "data", "metrics"} {
			got, ok := have[pkg+"."+name]
			found = found || ok && (shape == got || strings.ReplaceAll(got, "scenario.", "") == shape)
			if ok && !found {
				shape += "; " + pkg + " has " + got
			}
		}
		if !found {
			t.Errorf("%s: %s is not in the code as %s", s, name, shape)
		}
	}
}

// shapes returns a file's exported functions and types by name: the types of parameters and
// results, or the names of fields.
func shapes(f *ast.File) map[string]string {
	all := map[string]string{}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.IsExported() {
				all[d.Name.Name] = "func(" + types(d.Type.Params) + ")(" + types(d.Type.Results) + ")"
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				ts, ok := spec.(*ast.TypeSpec)
				if !ok || !ts.Name.IsExported() {
					continue
				}
				shape := "type"
				if st, ok := ts.Type.(*ast.StructType); ok {
					for _, field := range st.Fields.List {
						for _, name := range field.Names {
							shape += " " + name.Name
						}
					}
				}
				all[ts.Name.Name] = shape
			}
		}
	}
	return all
}

func types(list *ast.FieldList) string {
	if list == nil {
		return ""
	}
	var parts []string
	for _, f := range list.List {
		for range max(1, len(f.Names)) {
			parts = append(parts, typeText(f.Type))
		}
	}
	return strings.Join(parts, ", ")
}

func typeText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return typeText(e.X) + "." + e.Sel.Name
	case *ast.StarExpr:
		return "*" + typeText(e.X)
	case *ast.ArrayType:
		return "[]" + typeText(e.Elt)
	case *ast.Ellipsis:
		return "..." + typeText(e.Elt)
	case *ast.FuncType:
		return "func(" + types(e.Params) + ")(" + types(e.Results) + ")"
	case *ast.InterfaceType:
		return "interface"
	}
	return fmt.Sprintf("%T", e)
}
