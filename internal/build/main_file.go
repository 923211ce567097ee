package build

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// mainFile is the generated file beside the scenario's own.
const mainFile = "zz_gobench_main.go"

// addMain checks that the scenario's files, which must have been read, are one package, and
// adds the main function to the copy: one or two calls, as all logic is in package executor. A
// function thresholds without parameters and with one result is called besides export, and one
// done(executor.Summary) is passed on. It
// returns an *InputError if a file is of another package or named mainFile or has func main,
// or none has func export. If a file without export does not parse, main is empty, and the
// compiler reports what is wrong.
func (p *project) addMain() error {
	main := p.packages[0]
	var export, thresholds, done *ast.FuncDecl
	var home, second, third *goFile // their files
	taken := map[string]bool{}
	refuse := func(f *goFile, pos token.Pos, problem, fix string) error {
		return &InputError{File: p.shown(f.name), Line: f.line(pos), Problem: problem, Fix: fix}
	}
	for _, f := range main.files {
		if path.Base(f.name) == mainFile {
			return refuse(f, f.ast.Package, "gobench writes a file of this name", "rename it")
		}
		if f.ast.Name != nil && f.ast.Name.Name != "main" && f.err == nil && (p.only != "" || !constrained(f)) {
			return refuse(f, f.ast.Name.Pos(), "package "+f.ast.Name.Name+" is not a scenario", "a scenario begins with: package main")
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil {
				continue
			}
			switch fn.Name.Name {
			case "main":
				return refuse(f, fn.Name.Pos(), "func main is written by gobench", "remove it; func export() scenario.Vus is where a scenario begins")
			case "export":
				if export == nil {
					export, home = fn, f
				}
			case "done":
				if takesSummary(f.ast, fn.Type) {
					done, third = fn, f
				}
			case "thresholds":
				if fn.Type.Params.NumFields() == 0 && fn.Type.Results.NumFields() == 1 {
					thresholds, second = fn, f
				}
			}
		}
		for name := range declared(f.ast) {
			taken[name] = true
		}
	}
	if export == nil {
		for _, f := range main.files {
			switch {
			case len(bytes.TrimSpace(p.files[f.name])) == 0:
				return &InputError{File: p.shown(f.name), Problem: "the file is empty", Fix: "gobench init DIR writes a scenario to begin with"}
			case f.err != nil: // the compiler reports what is wrong with it
				p.files[path.Join(p.dir, mainFile)] = []byte("package main\n\nfunc main() {}\n")
				return nil
			}
		}
		return &InputError{File: p.shown(main.files[0].name), Problem: "no func export",
			Fix: "a scenario has: func export() scenario.Vus { return scenario.Vus{{Nu: 1, Fu: user}} }"}
	}
	name, alias := "executor", ""
	if taken[name] {
		name = "gobench_executor"
		alias = name + " "
	}
	args, err := call(home, export)
	if err != nil {
		return refuse(home, export.Pos(), err.Error(), "rename it")
	}
	if thresholds != nil {
		more, err := call(second, thresholds)
		if err != nil {
			return refuse(second, thresholds.Pos(), err.Error(), "rename it")
		}
		args += ", " + more + "..."
	}
	first := ""
	if done != nil {
		value, err := placed(third, done)
		if err != nil {
			return refuse(third, done.Pos(), err.Error(), "rename it")
		}
		first = fmt.Sprintf("%s.Done(%s); ", name, value)
	}
	text := fmt.Sprintf("package main\n\nimport %s%q\n\nfunc main() { %s%s.Main(%s) }\n", alias, sdkPath+"/executor", first, name, args)
	p.files[path.Join(p.dir, mainFile)] = []byte(text)
	return nil
}

// takesSummary reports whether a function of a file has one parameter, an executor.Summary, and no
// result. Another function of the name is one of the scenario's own.
func takesSummary(f *ast.File, t *ast.FuncType) bool {
	if t.Results.NumFields() > 0 || t.Params.NumFields() != 1 || len(t.Params.List) != 1 {
		return false
	}
	of, ok := t.Params.List[0].Type.(*ast.SelectorExpr)
	if !ok || of.Sel.Name != "Summary" {
		return false
	}
	name, ok := of.X.(*ast.Ident)
	return ok && slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil || !strings.HasPrefix(path, sdkPath+"/") || !strings.HasSuffix(path, "/executor") { // also of /v2
			return false
		}
		return i.Name == nil && name.Name == "executor" || i.Name != nil && name.Name == i.Name.Name
	})
}

// call returns the source of a call of a function of f: that of placed, with parentheses.
func call(f *goFile, fn *ast.FuncDecl) (string, error) {
	text, err := placed(f, fn)
	return text + "()", err
}

// placed returns the source of a function of f as a value, as "/*line FILE:5:6*/export", at the
// function's own line, so that the compiler reports a wrong type there. It returns an error,
// for the user, if the name of f cannot be in a comment.
func placed(f *goFile, fn *ast.FuncDecl) (string, error) {
	name := path.Base(f.name)
	if strings.ContainsAny(name, "\r\n*") {
		return "", errors.New("the file's name cannot be written in a comment")
	}
	pos := f.fset.PositionFor(fn.Name.Pos(), false)
	return fmt.Sprintf("/*line %s:%d:%d*/%s", name, pos.Line, pos.Column, fn.Name.Name), nil
}

// constrained reports whether a file has a //go:build line: whether it belongs to a build
// is then for the go command to decide. (A file that is named alone always belongs.)
func constrained(f *goFile) bool {
	for _, group := range f.ast.Comments {
		for _, c := range group.List {
			if c.Pos() < f.ast.Package && strings.HasPrefix(c.Text, "//go:build") {
				return true
			}
		}
	}
	return false
}

// declared returns the names that a file declares for its whole package, methods and
// imports excepted.
func declared(f *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names[d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names[spec.Name.Name] = true
				case *ast.ValueSpec:
					for _, n := range spec.Names {
						names[n.Name] = true
					}
				}
			}
		}
	}
	return names
}
