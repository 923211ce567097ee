package cli

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/module"

	"github.com/gobench-io/gobench/internal/build"
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

// initCommand returns gobench init, which calls init, or with --sdk renewSDK.
func (a *app) initCommand() *cobra.Command {
	var name string
	var sdk bool
	cmd := &cobra.Command{
		Use:   "init DIR",
		Short: "Write a first scenario, ready to run and to edit",
		Long: `Write a first scenario into the new folder DIR: scenario.go with a go.mod, a README
and, for editors and go vet, gobench's packages below .gobench. It needs no network. A
file that exists is never overwritten.

--sdk writes only .gobench again, with the lines of go.mod that point there: after a
fresh clone of a scenario's repository, or with a newer gobench. gobench run does not
need .gobench: it has its own copy of the packages.`,
		Example: `  gobench init shop
  gobench init load --module example.com/load
  gobench init --sdk shop`,
		Args: exactArgs(1, "the folder to make"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if sdk {
				if cmd.Flags().Changed("module") {
					return usageError("", "--module can't be used with --sdk: go.mod names the module already")
				}
				return a.renewSDK(args[0])
			}
			return a.init(args[0], name)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	cmd.Flags().StringVar(&name, "module", "", "`NAME` of the module in go.mod (default: the folder's name)")
	cmd.Flags().BoolVar(&sdk, "sdk", false, "only write gobench's packages for editors again")
	return cmd
}

// init writes a first scenario, a module called name, into dir, which it creates if
// needed. An empty name stands for moduleName of the folder's. An invalid name and a file
// that exists already are usage errors: nothing is written then. After an error of
// writing, files that were written remain.
func (a *app) init(dir, name string) error {
	full, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	switch given := name; {
	case given == "":
		name = moduleName(filepath.Base(full))
	default:
		if err := module.CheckImportPath(given); err != nil {
			return usageError("as in --module shop or --module example.com/load/shop", "--module: %v", err)
		}
	}
	own := []byte("module " + name + "\n")
	if err := build.CheckMod("go.mod", own, ""); err != nil { // a build would refuse the name
		return usageError("", "--module %s: %w", name, err)
	}
	sdk := build.NewSDK(a.sdk)
	mod, err := sdk.Require("go.mod", own)
	if err != nil {
		return err
	}
	files := []struct{ name, text string }{
		{"scenario.go", firstScenario},
		{"go.mod", string(mod)},
		{"README.md", strings.Replace(firstReadme, "NAME", path.Base(name), 1)},
		{".gitignore", firstIgnore},
		{build.EditorDir, ""},
	}
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(dir, f.name)); err == nil {
			return usageError("name another folder, as in: gobench init "+filepath.Join(dir, "load"), "%s exists already: nothing was written", filepath.Join(dir, f.name))
		} else if !errors.Is(err, fs.ErrNotExist) {
			return usageError("name another folder", "%w", err)
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
	if err := sdk.WriteEditorDir(dir); err != nil {
		return fmt.Errorf("write gobench's packages for editors: %w", err)
	}
	fmt.Fprintf(a.stdout, `made %s: a first scenario

  cd %s
  gobench target http          # in another terminal: a small server to try it on
  gobench run scenario.go      # the report comes after 10 seconds
`, dir, quoted(dir))
	return nil
}

// renewSDK writes the packages for editors of the scenario in dir again, and the lines of
// its go.mod that point there. A missing or invalid go.mod is a usage error, and nothing
// is written then.
func (a *app) renewSDK(dir string) error {
	file := filepath.Join(dir, "go.mod")
	own, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return usageError("gobench init "+dir+" writes a scenario with one", "%s: there is no go.mod", dir)
	}
	if err != nil {
		return err
	}
	sdk := build.NewSDK(a.sdk)
	mod, err := sdk.Require(file, own)
	if err != nil {
		return usageError("", "%w", err)
	}
	if err := sdk.WriteEditorDir(dir); err != nil {
		return fmt.Errorf("write gobench's packages for editors: %w", err)
	}
	if string(mod) != string(own) {
		if err := os.WriteFile(file, mod, 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.stdout, "wrote %s for editors, and its lines in %s\n", filepath.Join(dir, build.EditorDir), file)
	return nil
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

// quoted returns s as one word of a POSIX shell: in single quotes if it has characters
// other than letters, digits and -_./:. An empty s stays empty.
func quoted(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
