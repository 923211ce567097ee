package build

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// resolved stores the go.mod and go.sum that the go command completed for a scenario with
// its own modules: an edited scenario then has the same versions, and needs no network to
// find them.
type resolved struct {
	dir string // "" for a scenario without such modules
}

// resolvedFor returns the place for the versions of a project, by its go.mod, go.sum and
// external imports. It must be called after complete, and before go.mod and go.sum change
// again.
func (b *Builder) resolvedFor(p *project) resolved {
	if len(p.external) == 0 {
		return resolved{}
	}
	h := sha256.New()
	hashPart(h, "go.mod", p.files["go.mod"])
	hashPart(h, "go.sum", p.files["go.sum"])
	for _, target := range p.external {
		hashPart(h, target, nil)
	}
	return resolved{filepath.Join(b.dir, "resolved", hex.EncodeToString(h.Sum(nil)))}
}

// use replaces go.mod and go.sum of the copy by what an earlier build found, if one did.
func (r resolved) use(p *project) {
	if r.dir == "" {
		return
	}
	mod, errMod := os.ReadFile(filepath.Join(r.dir, "go.mod"))
	sum, errSum := os.ReadFile(filepath.Join(r.dir, "go.sum"))
	if errMod == nil && errSum == nil {
		p.files["go.mod"], p.files["go.sum"] = mod, sum
		_ = touch(r.dir) // it only matters for its removal
	}
}

// save stores the go.mod and go.sum that the go command wrote in the copy at root. It does
// nothing for a scenario without external modules.
func (r resolved) save(root string) error {
	if r.dir == "" {
		return nil
	}
	for _, name := range []string{"go.sum", "go.mod"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err == nil {
			err = writeFile(filepath.Join(r.dir, name), data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// chosen returns notes on the versions that the go command chose for imports that the user's
// go.mod does not name, or nil. It reads them from the copy at root, after go build.
func (p *project) chosen(root string) (notes []string, err error) {
	if len(p.external) == 0 {
		return nil, nil
	}
	data, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	mod, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return nil, err
	}
	named := map[string]bool{}
	if p.mod != nil {
		for _, r := range p.mod.Require {
			named[r.Mod.Path] = true
		}
	}
	for _, target := range p.external {
		var best module.Version
		for _, r := range mod.Require {
			if (target == r.Mod.Path || strings.HasPrefix(target, r.Mod.Path+"/")) && len(r.Mod.Path) > len(best.Path) {
				best = r.Mod
			}
		}
		if best.Path != "" && !named[best.Path] {
			named[best.Path] = true
			notes = append(notes, fmt.Sprintf("import %q is of %s %s; require another version in go.mod to have that", target, best.Path, best.Version))
		}
	}
	return notes, nil
}

// tooSmall matches the go command's error for a package that a module of the archive lacks,
// as these have only what gobench needs.
var tooSmall = regexp.MustCompile(`module (\S+)@\S+ found \(\S+, replaced by .*third_party.*\), but does not contain package`)

// wantsWhole returns the path of the module of the archive that a failed build, which
// printed text, needs all of; "" if it failed for another reason, or if nothing can be
// fetched.
func (p *project) wantsWhole(text string, o Options) string {
	m := tooSmall.FindStringSubmatch(text)
	if m == nil || o.offline() {
		return ""
	}
	return m[1]
}

// unreplace makes the copy, also that at root, use a module from the proxy, in the same
// version. It returns an error if go.mod does not replace the module.
func (p *project) unreplace(path, root string) error {
	mod, err := modfile.Parse("go.mod", p.files["go.mod"], nil)
	if err != nil {
		return err
	}
	found := false
	for _, r := range mod.Replace {
		if r.Old.Path == path && r.Old.Version != "" {
			found = true
			if err := mod.DropReplace(r.Old.Path, r.Old.Version); err != nil {
				return err
			}
		}
	}
	if !found {
		return fmt.Errorf("%s is not replaced", path)
	}
	mod.Cleanup()
	p.files["go.mod"] = modfile.Format(mod.Syntax)
	return errors.Join(os.WriteFile(filepath.Join(root, "go.mod"), p.files["go.mod"], 0o600),
		os.WriteFile(filepath.Join(root, "go.sum"), p.files["go.sum"], 0o600))
}

// failed removes the stored versions if err is a *CompileError of the go command itself,
// such as a wrong checksum, as they may be its reason; not for one of the compiler.
func (r resolved) failed(err error) {
	var c *CompileError
	if r.dir != "" && errors.As(err, &c) && (strings.Contains(c.Text, "verifying ") || strings.HasPrefix(c.Text, "go: ")) {
		_ = os.RemoveAll(r.dir)
	}
}

// tidyResolved removes versions that no build has used for 90 days. It ignores errors.
func (b *Builder) tidyResolved() {
	dir := filepath.Join(b.dir, "resolved")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > 90*24*time.Hour {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}
