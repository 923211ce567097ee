package docs

import (
	"os"
	"path/filepath"
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
