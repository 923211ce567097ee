package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/load/conn"
)

// The samples of README.md and docs are held by tests; docs/README.md tells how they
// are written.

// block is a fenced block of a page.
type block struct {
	page   string
	line   int    // of its first line of text
	kind   string // what stands behind the fence: go, sh, go sketch
	text   string
	notRun string // why its commands can't be run
	with   string // Go declarations that the reader does without
}

func (s block) String() string { return fmt.Sprintf("%s:%d", s.page, s.line) }

// pages are the pages whose samples are held: not those that programs write with
// figures of other machines.
func pages(t *testing.T) (names []string) {
	names = []string{"README.md"}
	err := filepath.WalkDir("docs", func(name string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(name) == ".md" && name != filepath.Join("docs", "benchmarks.md") && !strings.HasPrefix(name, filepath.Join("docs", "decisions")) {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

var (
	fence   = regexp.MustCompile("^```(.*)$")
	comment = regexp.MustCompile(`^<!-- (not run|with): (.+) -->$`)
)

// blocksOf reads the fenced blocks of a page.
func blocksOf(t testing.TB, page string) (all []block) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var open *block
	next := block{page: page}
	for i, line := range strings.Split(string(text), "\n") {
		m := fence.FindStringSubmatch(line)
		switch note := comment.FindStringSubmatch(line); {
		case open == nil && m != nil:
			next.kind, next.line = m[1], i+2
			open = &next
		case open != nil && m != nil:
			all = append(all, *open)
			open, next = nil, block{page: page}
		case open != nil:
			open.text += line + "\n"
		case note != nil && note[1] == "not run":
			next.notRun = note[2]
		case note != nil:
			next.with += note[2] + "\n"
		}
	}
	if open != nil {
		t.Errorf("%s:%d: the block does not end", page, open.line)
	}
	return all
}

// Every Go sample compiles: files as they stand, declarations and statements in a file
// with the imports that they want. All are compiled at once, over files that are not
// in the tree.
func TestGoSamples(t *testing.T) {
	t.Parallel()
	dir, overlay, n := t.TempDir(), map[string]string{}, 0
	args := []string{"build", "-overlay", filepath.Join(dir, "overlay.json")}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages(t) {
		for _, s := range blocksOf(t, page) {
			switch s.kind {
			case "go":
			case "go sketch":
				holdSketch(t, s)
				continue
			default:
				continue
			}
			text, err := compilable(s)
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
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// known are the packages that samples name without an import.
var known = map[string]string{
	"context": "context", "errors": "errors", "fmt": "fmt", "log": "log", "os": "os", "strconv": "strconv", "strings": "strings", "testing": "testing", "time": "time",
	"data": "executor/data", "dis": "dis", "executor": "executor", "executortest": "executor/executortest", "http": "clients/http", "metrics": "executor/metrics", "scenario": "executor/scenario",
}

// compilable makes a file of a package of its own of a sample, with line numbers of
// its page.
func compilable(s block) (string, error) {
	at := fmt.Sprintf("//line %s:%d\n", s.page, s.line)
	if clause := regexp.MustCompile(`(?m)^package \w+$`).FindStringIndex(s.text); clause != nil {
		return at + s.text[:clause[0]] + "package sample" + s.text[clause[1]:] + s.with, nil
	}
	body := at + s.text
	if _, err := parser.ParseFile(token.NewFileSet(), "", "package sample\n"+body, 0); err != nil {
		body = "func _(ctx context.Context) {\n" + at + s.text + "\n}\n" // statements
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", "package sample\n"+body+s.with, 0)
	if err != nil {
		return "", err
	}
	var used []string // variables of statements: that nobody reads them is no fault of a sample
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
			if info, err := os.Stat(filepath.FromSlash(path)); err == nil && info.IsDir() {
				path = "github.com/gobench-io/gobench/" + path
			}
			fmt.Fprintf(&imports, "\t%s %q\n", id.Name, path)
		}
	}
	return "package sample\n\nimport (\n" + imports.String() + ")\n\n" + s.with + body, nil
}

// holdSketch holds the declarations of a sketch, which has no bodies, against those of
// the packages that it shows: each name is there, functions have the same parameters.
func holdSketch(t *testing.T, s block) {
	fset := token.NewFileSet()
	sketch, err := parser.ParseFile(fset, "", "package sketch\n"+s.text, parser.SkipObjectResolution)
	if err != nil {
		t.Errorf("%s: %v", s, err)
		return
	}
	have := map[string]string{}
	for _, path := range known {
		files, _ := filepath.Glob(filepath.FromSlash(path) + "/*.go")
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

// shapes gives a file's exported functions and types, by name: the types of
// parameters and results, or the names of fields.
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

// Every command line of a sh block runs, and its loads are answered; in blocks of the
// console those behind a prompt.
func TestCommandLines(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/503" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprint(w, "a page")
	}))
	t.Cleanup(plain.Close)
	secure := httptest.NewTLSServer(plain.Config.Handler)
	t.Cleanup(secure.Close)
	host := func(s *httptest.Server) string {
		u, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		return u.Host
	}
	hurried := strings.NewReplacer("http://localhost:8080", plain.URL, "http://localhost:9090", plain.URL, "https://localhost:8443", "https://"+host(secure))
	cache, kept := t.TempDir(), t.TempDir()
	t.Cleanup(func() { makeWritable(cache) })
	env := append(os.Environ(), "XDG_CACHE_HOME="+cache, "XDG_DATA_HOME=", "GOBENCH_NO_WARM=1", "GOPROXY=off", "GOCACHE="+goEnv(t, "GOCACHE")["GOCACHE"])
	shell := func(dir, command string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", "-c", command)
		cmd.Dir, cmd.Env, cmd.WaitDelay = dir, slices.Concat(env, []string{"HOME=" + dir}), time.Second
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that nothing outlives its time
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	// A run, some of whose requests fail, for those that are about one, whose id is one of theirs, and the scenario of
	// gobench init for those that run one.
	const id = "20261121-064512-x7k2qa"
	out, err := shell(kept, hurried.Replace("gobench http -q -n 5 http://localhost:8080/ && gobench export last -o before.tar.zst && rm -r .gobench/runs/* && printf 'GET http://localhost:8080/\\nGET http://localhost:8080/503\\n' | gobench http -q -n 20 -c 2 --targets - -o result.json && gobench init shop && mv .gobench/runs/* .gobench/runs/"+id+
		" && sed -i 's/\"id\": .*/\"id\": \""+id+"\",/' .gobench/runs/"+id+"/result.json"))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ran := 0
	for _, page := range pages(t) {
		for _, s := range blocksOf(t, page) {
			commands := commandsOf(t, s)
			ran += len(commands)
			if len(commands) == 0 {
				continue
			}
			t.Run(s.String(), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				t.Cleanup(func() { makeWritable(dir) })
				if out, err := shell(dir, "cp -r "+kept+"/.gobench . && cp "+kept+"/before.tar.zst "+kept+"/result.json . && cp result.json before.json && mkdir -p scenarios/checkout && cp "+kept+"/shop/scenario.go . && cp scenario.go scenarios/checkout/ && "+
					"printf 'name,password\\nann,x\\nben,y\\n' >users.csv && echo '{}' >item.json"); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				for _, command := range commands {
					out, err := shell(dir, hurried.Replace(hurry(command)))
					var exit *exec.ExitError
					if errors.As(err, &exit) && exit.ExitCode() == 4 && !strings.Contains(out, " is called ") {
						err = nil // a threshold crossed on a machine that is busy with tests
					}
					if err != nil || strings.Contains(out, "nothing was answered") {
						t.Errorf("%s: %s (as %s): %v\n%s", s, command, hurry(command), err, out)
					}
				}
			})
		}
	}
	if ran < 30 {
		t.Errorf("only %d command lines were found", ran)
	}
}

// commandsOf gives the command lines of a block that are to be run. One that can't be
// run says why; one of commands that is not held is a fault.
func commandsOf(t *testing.T, s block) (commands []string) {
	lines := strings.Split(strings.ReplaceAll(s.text, "\\\n", ""), "\n")
	for _, line := range lines {
		if strings.Contains(line, " --master ") { // testdata/script has masters
			continue
		}
		switch command, prompted := strings.CutPrefix(line, "$ "); {
		case s.kind == "console" && prompted:
			commands = append(commands, command)
		case s.kind == "sh" && line != "" && !strings.HasPrefix(line, "#"):
			commands = append(commands, line)
		case s.kind == "" && strings.HasPrefix(line, "gobench "):
			t.Errorf("%s: a block with commands begins with ```sh", s)
			return nil
		}
	}
	if s.notRun != "" {
		return nil
	}
	return commands
}

var (
	loads = regexp.MustCompile(`gobench (http|run) `)
	times = regexp.MustCompile(`(-d|--duration|--warmup) \S+`)
	stage = regexp.MustCompile(`(--stage \d+)/\S+`)
)

// hurry shortens the loads of a command line.
func hurry(command string) string {
	command = stage.ReplaceAllString(times.ReplaceAllString(command, "$1 100ms"), "$1/50ms")
	if !strings.Contains(command, "-d 100ms") && !strings.Contains(command, "--duration 100ms") && !strings.Contains(command, "--stage") && !strings.Contains(command, " -n ") && !strings.Contains(command, "--help") && !strings.Contains(command, "--once") {
		command = loads.ReplaceAllString(command, "gobench $1 -d 100ms ")
	}
	if strings.Contains(command, "gobench run ") && !strings.Contains(command, "--help") {
		command = strings.Replace(command, "gobench run ", "gobench run --set url=http://localhost:8080/ ", 1)
		command = strings.Replace(command, "--set url=http://localhost:9090", "", 1)
		command = strings.NewReplacer("-d 100ms", "-d 1s", "--duration 100ms", "--duration 1s").Replace(command) // its users come one by one
	}
	return command
}

// Every class of error is explained.
func TestErrorsPage(t *testing.T) {
	page, err := os.ReadFile("docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	for c := range conn.Classes {
		if row := "| `" + conn.Class(c).String() + "` |"; !strings.Contains(string(page), row) {
			t.Errorf("the page has no row %s", row)
		}
	}
}
