package build

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"

	"github.com/gobench-io/gobench/internal/run"
)

// What gobench init writes, beside go.mod and the SDK for editors.
var (
	//go:embed first/scenario.go.txt
	firstScenario string
	//go:embed first/README.md.txt
	firstReadme string
	//go:embed first/gitignore.txt
	firstIgnore string
)

// WriteFirst writes a first scenario, a module called name, into dir, which it creates if
// needed. An empty name stands for moduleName of the folder's. For an invalid name and a file
// that exists already it returns a *run.UsageError, and writes nothing. After an error of
// writing, files that were written remain.
func (s SDK) WriteFirst(dir, name string) error {
	full, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if name == "" {
		name = moduleName(filepath.Base(full))
	} else if err := module.CheckImportPath(name); err != nil {
		return run.Usage("as in --module shop or --module example.com/load/shop", "--module: %v", err)
	}
	own := []byte("module " + name + "\n")
	if err := CheckMod("go.mod", own, ""); err != nil { // a build would refuse the name
		return run.Usage("", "--module %s: %w", name, err)
	}
	mod, err := s.Require("go.mod", own)
	if err != nil {
		return err
	}
	files := []struct{ name, text string }{
		{"scenario.go", firstScenario},
		{"go.mod", string(mod)},
		{"README.md", strings.Replace(firstReadme, "NAME", path.Base(name), 1)},
		{".gitignore", firstIgnore},
		{EditorDir, ""},
	}
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(dir, f.name)); err == nil {
			return run.Usage("name another folder, as in: gobench init "+filepath.Join(dir, "load"), "%s exists already: nothing was written", filepath.Join(dir, f.name))
		} else if !errors.Is(err, fs.ErrNotExist) {
			return run.Usage("name another folder", "%w", err)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	for _, f := range files[:len(files)-1] {
		if err := writeNew(filepath.Join(dir, f.name), f.text); err != nil {
			return err
		}
	}
	if err := s.WriteEditorDir(dir); err != nil {
		return fmt.Errorf("write gobench's packages for editors: %w", err)
	}
	return nil
}

// RenewEditorDir writes the packages for editors of the scenario in dir again, and the lines
// of its go.mod, whose path it returns, that point there. For a missing or invalid go.mod it
// returns a *run.UsageError, and writes nothing. After an error of writing, what was written
// remains.
func (s SDK) RenewEditorDir(dir string) (file string, err error) {
	file = filepath.Join(dir, "go.mod")
	own, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return file, run.Usage("gobench init "+dir+" writes a scenario with one", "%s: there is no go.mod", dir)
	}
	if err != nil {
		return file, err
	}
	mod, err := s.Require(file, own)
	if err != nil {
		return file, run.Usage("", "%w", err)
	}
	if err := s.WriteEditorDir(dir); err != nil {
		return file, fmt.Errorf("write gobench's packages for editors: %w", err)
	}
	if string(mod) == string(own) {
		return file, nil
	}
	return file, os.WriteFile(file, mod, 0o644)
}

// moduleName returns a module's name for a folder's: characters that are not allowed
// become "-"; "scenario" if no valid name is left.
func moduleName(folder string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, folder)
	if name = strings.Trim(name, "-._"); module.CheckImportPath(name) != nil {
		return "scenario"
	}
	return name
}

// writeNew writes a file with mode 0644. It returns an error that wraps fs.ErrExist if the
// file exists. If writing fails, a part of it remains.
func writeNew(name, text string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
