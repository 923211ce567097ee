package build

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// explain turns the error of a go command, and what it printed, into the error for the
// user: a *LimitError or *CompileError if the go command ended with a failure, else err.
// modules are the directories that hold modules by their path.
func (p *project) explain(err error, text, root string, modules []string, o Options) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err // ended, or never started
	}
	if limit := limitHit(text, o.Limits); limit != nil {
		return limit
	}
	text = rename(text, root, p.dir, p.display, modules, func(name string) bool {
		_, ok := p.files[name]
		return ok
	})
	if text == "" {
		text = "go build ended without a word: " + exit.String()
	}
	return &CompileError{Text: text, Hint: p.hint(text, o)}
}

// hint returns advice beyond the compiler's text, or "". text has the user's file names.
func (p *project) hint(text string, o Options) string {
	if o.offline() && strings.Contains(text, "GOPROXY=off") {
		return "this build fetches no modules: use packages of Go, gobench and the scenario's own module, or set a GOPROXY"
	}
	if undefinedHTTP.MatchString(text) {
		return fmt.Sprintf("import %q and use the client of NewHttpClient, which is measured; Go's own %q is not added by itself, as its calls are in no figure", clientHTTP, netHTTP)
	}
	if name, file := p.elsewhere(text); name != "" {
		return fmt.Sprintf("%s is declared in %s, but only %s was compiled: name the directory to take all of its files", name, file, p.only)
	}
	return ""
}

// clientHTTP is the path of gobench's own HTTP client.
const clientHTTP = "github.com/gobench-io/gobench/clients/http"

var undefinedHTTP = regexp.MustCompile(`(?m): undefined: http$`)

var undefined = regexp.MustCompile(`(?m): undefined: (\w+)$`)

// elsewhere finds an undefined name of the text in the files beside a scenario that was
// named alone, and returns it and the file's name; "" if it finds nothing.
func (p *project) elsewhere(text string) (name, file string) {
	if p.only == "" {
		return "", ""
	}
	var missing []string
	for _, m := range undefined.FindAllStringSubmatch(text, -1) {
		missing = append(missing, m[1])
	}
	entries, err := os.ReadDir(p.home)
	if len(missing) == 0 || err != nil || len(entries) > maxFiles {
		return "", ""
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxSource || filepath.Ext(e.Name()) != ".go" ||
			strings.HasSuffix(e.Name(), "_test.go") || e.Name() == p.only {
			continue
		}
		data, err := os.ReadFile(filepath.Join(p.home, e.Name()))
		if err != nil {
			continue
		}
		for name := range declared(parse(e.Name(), data).ast) {
			if slices.Contains(missing, name) {
				return name, printable(e.Name())
			}
		}
	}
	return "", ""
}
