package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/testing/repo"
)

// Every page for users is listed in docs/README.md, and every link of a page to a file leads
// to one.
func TestPagesAreListed(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile(repo.Path(t, "docs/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob(repo.Path(t, "docs/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	clients, err := filepath.Glob(repo.Path(t, "docs/clients/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(all, clients...) {
		name, err := filepath.Rel(repo.Path(t, "docs"), path)
		if err != nil {
			t.Fatal(err)
		}
		if name != "README.md" && !strings.Contains(string(index), "]("+filepath.ToSlash(name)+")") {
			t.Errorf("docs/README.md does not list %s", name)
		}
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	for _, page := range append(pages(t), "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md") {
		text, err := os.ReadFile(repo.Path(t, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "](")[1:] {
			link, _, _ := strings.Cut(part, ")")
			link, _, _ = strings.Cut(link, "#")
			if link == "" || strings.Contains(link, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(repo.Path(t, page)), filepath.FromSlash(link))); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, link)
			}
		}
	}
}

// Tests and paths that pages name exist, so that what a page sends its reader to is found.
// NAME stands for a name of the reader's; what is planned does not exist yet.
func TestNamesExist(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`)
	err := filepath.WalkDir(repo.Root(t), func(path string, d os.DirEntry, err error) error {
		if err == nil && (d.Name() == "node_modules" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			tests[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	test := regexp.MustCompile(`\bTest[A-Z]\w+`)
	path := regexp.MustCompile("`((?:bench|clients|dis|docs|examples|executor|internal|scripts|testdata|ui)/[\\w./*-]*)")
	for _, page := range append(pages(t), "CONTRIBUTING.md", "SECURITY.md") {
		text, err := os.ReadFile(repo.Path(t, page))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if strings.Contains(line, "planned") || strings.Contains(line, "will be") {
				continue
			}
			for _, name := range test.FindAllString(line, -1) {
				if !tests[name] {
					t.Errorf("%s:%d: there is no test %s", page, i+1, name)
				}
			}
			for _, m := range path.FindAllStringSubmatch(line, -1) {
				if found, err := filepath.Glob(repo.Path(t, m[1])); !strings.Contains(m[1], "NAME") && (err != nil || len(found) == 0) {
					t.Errorf("%s:%d: there is no %s", page, i+1, m[1])
				}
			}
		}
	}
}
