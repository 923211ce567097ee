// Package repo locates the files of this repository for tests, whose working
// directory is that of their own package.
package repo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Root returns the absolute path of the repository's root: the first directory with a go.mod,
// from the working directory up. Without one it fails the test.
func Root(tb testing.TB) string {
	tb.Helper()
	dir, err := root()
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

// Path returns the absolute path of a file or directory, by its path from the root with
// slashes.
func Path(tb testing.TB, name string) string {
	tb.Helper()
	return filepath.Join(Root(tb), filepath.FromSlash(name))
}

var root = sync.OnceValues(func() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", os.ErrNotExist
		}
		dir = up
	}
})

// GoEnv returns a variable of the go command's configuration, such as GOCACHE; "" if it is
// unset. It fails the test if the go command fails.
func GoEnv(tb testing.TB, name string) string {
	tb.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		tb.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
