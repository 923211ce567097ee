package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/repo"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// TestReadme runs the scenario that the README prints.
func TestReadme(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(repo.Path(t, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(page), "```go\n")
	code, _, found := strings.Cut(code, "```")
	if !found {
		t.Fatal("no Go code in README.md")
	}
	srv := servers.NewTarget(t)
	file := filepath.Join(t.TempDir(), "scenario.go")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(code, "http://localhost:8080", srv.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	r, _ := binary.RunScenario(t, file, "1s")
	if n := binary.Total(r, "home.http_ok"); n == 0 || n != srv.Served() {
		t.Errorf("%d answers counted, %d sent", n, srv.Served())
	}
}

// TestExamples runs each example against a server in the test.
func TestExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(repo.Path(t, "examples/*/scenario.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			t.Parallel()
			srv := servers.NewTarget(t)
			if r, _ := binary.RunScenario(t, file, "6s", "--set", "url="+srv.URL); len(r.Errors) > 0 || srv.Served() == 0 {
				t.Errorf("%d requests, errors %v", srv.Served(), r.Errors)
			}
		})
	}
}
