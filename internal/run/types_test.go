package run

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestSeverity(t *testing.T) {
	t.Parallel()
	if !(Fine < Amber && Amber < Red) {
		t.Error("severities are not ordered")
	}
	in := map[string]Severity{"cpu": Amber, "rate": Red}
	b, err := json.Marshal(in)
	if want := `{"cpu":"amber","rate":"red"}`; err != nil || string(b) != want {
		t.Errorf("JSON is %s (%v), want %s", b, err, want)
	}
	var out map[string]Severity
	if err := json.Unmarshal(b, &out); err != nil || !maps.Equal(in, out) {
		t.Errorf("read back as %v (%v)", out, err)
	}
	if err := json.Unmarshal([]byte(`{"cpu":"green"}`), &out); err == nil {
		t.Error("green is read as a severity")
	}
}

func TestVerdictOrder(t *testing.T) {
	t.Parallel()
	if !Invalid.Worse(Suspect) || !Suspect.Worse(Valid) || !Valid.Worse("") || Valid.Worse(Valid) {
		t.Error("verdicts are not ordered")
	}
}

// TestSwitches checks that a new metric type is handled everywhere: every switch over the
// metric types has a case for each, and no code writes a type as a bare string.
func TestSwitches(t *testing.T) {
	t.Parallel()
	var names []string // of the constants
	for _, typ := range metricTypes {
		names = append(names, strings.ToUpper(string(typ[:1]))+string(typ[1:]))
	}
	root := filepath.Join("..", "..")
	switches := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "node_modules" || name == "testdata" || name == ".git" || name == ".bin") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(source, []byte("istogram")) && !bytes.Contains(source, []byte("ounter")) && !bytes.Contains(source, []byte("auge")) {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		defines := path == filepath.Join(root, "internal", "run", "types.go") || path == filepath.Join(root, "executor", "metrics", "metrics.go")
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && MetricType(text).Known() && !defines {
					t.Errorf("%s: write run.%s instead of %s", set.Position(n.Pos()), strings.ToUpper(text[:1])+text[1:], n.Value)
				}
			case *ast.SwitchStmt:
				cases := typesOf(n)
				if len(cases) == 0 {
					return true
				}
				switches++
				for _, name := range names {
					if !slices.Contains(cases, name) {
						t.Errorf("%s: this switch over types of metrics has no case for %s", set.Position(n.Pos()), name)
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil || switches < 8 {
		t.Errorf("%d switches over types of metrics found, want at least 8 (%v)", switches, err)
	}
}

// typesOf returns the constants of types of metrics that the cases of a switch name, as
// run.Counter or metrics.Counter.
func typesOf(s *ast.SwitchStmt) (names []string) {
	for _, c := range s.Body.List {
		for _, e := range c.(*ast.CaseClause).List {
			sel, ok := e.(*ast.SelectorExpr)
			if !ok {
				continue
			}
			if x, ok := sel.X.(*ast.Ident); ok && (x.Name == "run" || x.Name == "metrics") && MetricType(strings.ToLower(sel.Sel.Name)).Known() {
				names = append(names, sel.Sel.Name)
			}
		}
	}
	return names
}
