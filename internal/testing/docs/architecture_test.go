package docs

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/testing/repo"
)

// TestArchitecture compares the tree with docs/architecture.md: every package has a line
// there, and imports only packages on lines below its own.
func TestArchitecture(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(repo.Path(t, "docs/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	line := map[string]int{} // by a package's directory
	var listed []string
	for n, m := range regexp.MustCompile(`(?m)^[+ ] ([a-z]+(?:/[a-zA-Z]+)*)(?:/\{([a-zA-Z,]+)\})?/ +`).FindAllStringSubmatch(string(page), -1) {
		subs := []string{m[1]}
		if m[2] != "" {
			subs = nil
			for _, sub := range strings.Split(m[2], ",") {
				subs = append(subs, m[1]+"/"+sub)
			}
		}
		for _, dir := range subs {
			line[dir] = n
			listed = append(listed, dir)
		}
	}
	lineOf := func(dir string) (string, bool) { // a package without a line belongs to the closest directory above it
		best := ""
		for _, r := range listed {
			if (dir == r || strings.HasPrefix(dir, r+"/")) && len(r) > len(best) {
				best = r
			}
		}
		return best, best != ""
	}
	const module = "github.com/gobench-io/gobench/"
	list := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	list.Dir = repo.Root(t)
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		dir, own := strings.CutPrefix(p.ImportPath, module)
		if !own {
			continue // main itself
		}
		from, ok := lineOf(dir)
		if !ok {
			t.Errorf("%s has no line in docs/architecture.md", dir)
			continue
		}
		for _, i := range p.Imports {
			sub, own := strings.CutPrefix(i, module)
			to, ok := lineOf(sub)
			if own && ok && to != from && line[to] <= line[from] {
				t.Errorf("%s imports %s, which is above it in docs/architecture.md", dir, sub)
			}
		}
	}
}
