package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/load/conn"
	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/repo"
)

func TestMain(m *testing.M) {
	binary.InParallel(8) // most of the time is spent waiting for runs to end
	os.Exit(m.Run())
}

// pages returns the pages whose samples are tested. Pages of figures that programs wrote on
// other machines are left out.
func pages(tb testing.TB) (names []string) {
	names = []string{"README.md"}
	root := repo.Root(tb)
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(name string, d fs.DirEntry, err error) error {
		name = strings.TrimPrefix(name, root+string(filepath.Separator))
		if err == nil && filepath.Ext(name) == ".md" && name != filepath.Join("docs", "benchmarks.md") && !strings.HasPrefix(name, filepath.Join("docs", "decisions")) {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return names
}

// Every class of error has a row in docs/errors.md.
func TestErrorsPage(t *testing.T) {
	page, err := os.ReadFile(repo.Path(t, "docs/errors.md"))
	if err != nil {
		t.Fatal(err)
	}
	for c := range conn.Classes {
		if row := "| `" + conn.Class(c).String() + "` |"; !strings.Contains(string(page), row) {
			t.Errorf("the page has no row %s", row)
		}
	}
}
