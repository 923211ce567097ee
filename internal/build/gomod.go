package build

import (
	"errors"
	"fmt"
	"go/version"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

// Limits of a user's files.
const (
	maxMod      = 64 << 10
	maxSum      = 1 << 20
	maxSource   = 512 << 10 // one Go file
	maxSources  = 16 << 20  // all Go files together
	maxEmbedded = 64 << 20  // all embedded files together
	maxFiles    = 10_000
	maxRequires = 1000 // requires, replaces and excludes, each
)

// CheckMod parses a user's go.mod and refuses, as an [*InputError], what must not reach a go
// command: a replace that leaves the module, a toolchain or tool line, a go version newer than
// toolchain ("go1.26.8"; "" refuses any), the SDK's own module path, no module line, and more
// lines or bytes than any scenario needs. name is the file's in messages.
func CheckMod(name string, data []byte, toolchain string) error {
	_, err := checkMod(name, data, toolchain)
	return err
}

// checkMod is CheckMod, and returns the file parsed.
func checkMod(name string, data []byte, toolchain string) (*modfile.File, error) {
	refuse := func(line int, field, problem, fix string) error {
		return &InputError{File: name, Line: line, Field: field, Problem: problem, Fix: fix}
	}
	if len(data) > maxMod {
		return nil, refuse(0, "size", fmt.Sprintf("%d bytes, more than %s", len(data), bytesText(maxMod)), "remove requirements that the scenario does not use")
	}
	f, err := modfile.Parse(name, data, nil)
	if err != nil {
		return nil, syntaxError(name, err)
	}
	switch {
	case f.Module == nil:
		return nil, refuse(0, "module", "no module line", "begin the file with: module scenario")
	case f.Module.Mod.Path == sdkPath || strings.HasPrefix(f.Module.Mod.Path, sdkPath+"/"):
		return nil, refuse(lineOf(f.Module.Syntax), "module", f.Module.Mod.Path+" is gobench's own name", "rename the scenario's module")
	case f.Toolchain != nil:
		return nil, refuse(lineOf(f.Toolchain.Syntax), "toolchain", "a scenario is built with the Go that is installed", "remove the line")
	case f.Go != nil && version.Compare("go"+f.Go.Version, plain(toolchain)) > 0:
		return nil, refuse(lineOf(f.Go.Syntax), "go", fmt.Sprintf("go %s is newer than the installed %s", f.Go.Version, toolchain), "lower it, or install a newer Go")
	case len(f.Tool) > 0:
		return nil, refuse(lineOf(f.Tool[0].Syntax), "tool", "tools are not part of a scenario", "remove the line")
	case len(f.Require) > maxRequires:
		return nil, refuse(lineOf(f.Require[maxRequires].Syntax), "require", tooMany(len(f.Require)), "remove those that the scenario does not use")
	case len(f.Replace) > maxRequires:
		return nil, refuse(lineOf(f.Replace[maxRequires].Syntax), "replace", tooMany(len(f.Replace)), "remove those that the scenario does not use")
	case len(f.Exclude) > maxRequires:
		return nil, refuse(lineOf(f.Exclude[maxRequires].Syntax), "exclude", tooMany(len(f.Exclude)), "remove those that the scenario does not use")
	}
	for _, r := range f.Replace {
		if isSDK(r.Old.Path) {
			continue // unused: gobench brings the SDK itself
		}
		if r.New.Version == "" && !inside(r.New.Path) {
			return nil, refuse(lineOf(r.Syntax), "replace", r.New.Path+" is outside of the scenario's module",
				"move the package below the go.mod, or require a published version")
		}
	}
	return f, nil
}

func tooMany(n int) string { return fmt.Sprintf("%d lines, more than %d", n, maxRequires) }

// syntaxError returns an *InputError for x/mod's first error, with its line.
func syntaxError(name string, err error) error {
	e := &InputError{File: name, Field: "go.mod", Problem: err.Error(), Fix: "mend the line; https://go.dev/ref/mod has the grammar"}
	var list modfile.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		first := list[0]
		e.Line, e.Problem = first.Pos.Line, printable(first.Err.Error())
		if first.Verb != "" {
			e.Field = first.Verb
		}
	}
	return e
}

// lineOf returns the number of a line, from 1, or 0 if it is nil.
func lineOf(l *modfile.Line) int {
	if l == nil {
		return 0
	}
	return l.Start.Line
}

// inside reports whether a replacement directory is below that of the go.mod that names it,
// by its name. (Links are detected when the directory is read.)
func inside(dir string) bool {
	slashed := strings.ReplaceAll(dir, `\`, "/")
	if path.IsAbs(slashed) || filepath.IsAbs(dir) || filepath.VolumeName(dir) != "" || strings.Contains(slashed, ":") {
		return false
	}
	clean := path.Clean(slashed)
	return clean != "." && clean != ".." && !strings.HasPrefix(clean, "../")
}

func isSDK(module string) bool { return module == sdkPath || module == sdkV2 }
