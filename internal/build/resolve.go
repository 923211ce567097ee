package build

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// resolved remembers the go.mod and go.sum that the go command completed for a
// scenario with modules of its own: an edited scenario then has the same versions,
// and needs no network to find them.
type resolved struct {
	dir string // "" for a scenario without such modules
}

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

// use gives the copy what an earlier build found.
func (r resolved) use(p *project) {
	if r.dir == "" {
		return
	}
	mod, errMod := os.ReadFile(filepath.Join(r.dir, "go.mod"))
	sum, errSum := os.ReadFile(filepath.Join(r.dir, "go.sum"))
	if errMod == nil && errSum == nil {
		p.files["go.mod"], p.files["go.sum"] = mod, sum
		_ = touch(r.dir) // only its removal depends on it
	}
}

// save keeps what the go command made of the copy at root.
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

// failed forgets versions that the go command stumbled over.
func (r resolved) failed(err error) {
	var c *CompileError
	if r.dir != "" && errors.As(err, &c) && (strings.Contains(c.Text, "verifying ") || strings.HasPrefix(c.Text, "go: ")) {
		_ = os.RemoveAll(r.dir)
	}
}

// tidyResolved forgets versions that no build has asked for in 90 days.
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
