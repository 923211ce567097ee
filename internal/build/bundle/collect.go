package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// roots are the directories of packages that a scenario may import.
var roots = []string{"clients", "dis", "executor"}

// platforms are those whose imports the bundle must cover; go mod vendor then takes
// the files of all platforms.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

// module is one dependency, as go list -m -json prints it.
type module struct{ Path, Version, GoMod string }

// collect returns the contents of the archive by name, for the module of gobench at root. It
// runs go, which may fetch modules, in a temporary copy. If it returns an error, as command
// does at the end of ctx, the contents are nil or incomplete. root is as for copySDK.
func collect(ctx context.Context, root string) (map[string][]byte, error) {
	tmp, err := os.MkdirTemp("", "gobench-bundle-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	if err := copySDK(ctx, root, tmp); err != nil {
		return nil, err
	}
	if _, err := command(ctx, tmp, nil, "mod", "vendor"); err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	mods, err := vendored(ctx, tmp)
	if err != nil {
		return nil, err
	}
	for _, m := range mods {
		if err := addModule(files, filepath.Join(tmp, "vendor"), m, mods); err != nil {
			return nil, err
		}
	}
	files["gobench/go.mod"], err = reduced(filepath.Join(root, "go.mod"), mods)
	return files, err
}

// moduleRoot returns the directory of the module that the working directory is in. Outside of
// modules the result is of no use, without an error.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := command(ctx, ".", nil, "env", "GOMOD")
	if err != nil {
		return "", err
	}
	return filepath.Dir(strings.TrimSpace(out)), nil
}

// copySDK writes to tmp, which must exist, a module of the packages of gobench that roots
// import on one of platforms, without tests, so that nothing else of gobench becomes part of
// the bundle. Its go.mod and go.sum are those of gobench. root is an absolute path, without
// white space in it.
func copySDK(ctx context.Context, root, tmp string) error {
	list := []string{"list", "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}"}
	for _, r := range roots {
		list = append(list, "./"+r+"/...")
	}
	dirs := map[string]bool{}
	for _, p := range platforms {
		goos, goarch, _ := strings.Cut(p, "/")
		env := []string{"GOOS=" + goos, "GOARCH=" + goarch, "CGO_ENABLED=0"}
		out, err := command(ctx, root, env, list...)
		if err != nil {
			return err
		}
		for _, d := range strings.Fields(out) {
			dirs[d] = true
		}
	}
	for _, d := range slices.Sorted(maps.Keys(dirs)) {
		rel, err := filepath.Rel(root, d)
		if err != nil {
			return err
		}
		if err := copyFiles(d, filepath.Join(tmp, rel)); err != nil {
			return err
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(tmp, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// copyFiles copies the regular files of a package's directory, except tests, to a directory
// that it creates if needed.
func copyFiles(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if !e.Type().IsRegular() || strings.HasSuffix(name, "_test.go") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// vendored lists the modules that go mod vendor in dir took packages from, by path; nil
// without dependencies.
func vendored(ctx context.Context, dir string) ([]module, error) {
	data, err := os.ReadFile(filepath.Join(dir, "vendor", "modules.txt"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // no dependencies at all
	}
	if err != nil {
		return nil, err
	}
	var paths []string
	current := ""
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		line := s.Text()
		switch {
		case strings.HasPrefix(line, "## "):
		case strings.HasPrefix(line, "# "):
			current = strings.Fields(line)[1]
		case current != "": // a package of current
			paths = append(paths, current)
			current = ""
		}
	}
	slices.Sort(paths)
	if len(paths) == 0 {
		return nil, nil
	}
	out, err := command(ctx, dir, nil, append([]string{"list", "-mod=mod", "-m", "-json"}, paths...)...)
	if err != nil {
		return nil, err
	}
	var mods []module
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		var m module
		if err := d.Decode(&m); err != nil {
			return nil, err
		}
		mods = append(mods, m)
	}
	return mods, nil
}

// addModule adds the vendored files of m that are needed, and its go.mod, to files. The
// tree of a module may contain that of another (genproto and genproto/googleapis/rpc),
// whose files are left out.
func addModule(files map[string][]byte, vendor string, m module, all []module) error {
	dir := filepath.Join(vendor, filepath.FromSlash(m.Path))
	to := "third_party/" + m.Path + "@" + m.Version + "/"
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(vendor, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			inner := slices.ContainsFunc(all, func(o module) bool { return o.Path == rel && o.Path != m.Path })
			if inner {
				return fs.SkipDir
			}
			return nil
		}
		if !needed(rel) {
			return nil
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		files[to+strings.TrimPrefix(rel, m.Path+"/")] = data
		return nil
	})
	if err != nil {
		return err
	}
	data, err := os.ReadFile(m.GoMod)
	if err != nil {
		return fmt.Errorf("go.mod of %s: %w", m.Path, err)
	}
	files[to+"go.mod"] = data
	return nil
}

// needed reports whether a compiler or a licence needs the file: all but hidden files, a
// Makefile, and texts and scripts that are no licence. Embedded files have other endings
// and are needed.
func needed(name string) bool {
	base := path.Base(name)
	switch path.Ext(base) {
	case ".md", ".proto", ".yml", ".yaml", ".sh":
		return strings.HasPrefix(base, "LICENSE") || strings.HasPrefix(base, "COPYING") || strings.HasPrefix(base, "NOTICE")
	}
	return base != "Makefile" && !strings.HasPrefix(base, ".")
}

// reduced returns the SDK's go.mod: that of gobench, the file name, with mods as its only
// requirements.
func reduced(name string, mods []module) ([]byte, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	f, err := modfile.Parse(name, data, nil)
	if err != nil {
		return nil, err
	}
	sdk := new(modfile.File)
	if err := sdk.AddModuleStmt(f.Module.Mod.Path); err != nil {
		return nil, err
	}
	if err := sdk.AddGoStmt(f.Go.Version); err != nil {
		return nil, err
	}
	for _, m := range mods {
		sdk.AddNewRequire(m.Path, m.Version, false)
	}
	sdk.Cleanup()
	return modfile.Format(sdk.Syntax), nil
}

// command runs go in dir, with env besides this process's environment, whose GOWORK and
// GOFLAGS it does not use, and returns what it printed to standard output. The error has what
// it printed to standard error. At the end of ctx it kills go; the error need not wrap ctx's.
func command(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOWORK=off", "GOFLAGS="), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out), nil
}
