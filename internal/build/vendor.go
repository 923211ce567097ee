package build

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// vendored is a module in the user's vendor directory. In the copy it is a module of its
// own, which a replace line refers to: so it needs no network, and the SDK, which the
// user's vendor/modules.txt does not list, can be used beside it.
type vendored struct {
	module.Version
	dir string // vendor/PATH
}

// readVendor reads vendor/modules.txt, if it exists, and adds each module that it lists with a
// package, except the SDK, malformed ones and those that a folder replaces. It reads no
// packages. It returns an *InputError if the file is refused or lists too many modules.
func (p *project) readVendor() error {
	const list = "vendor/modules.txt"
	data, err := p.read(list, maxSum)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	goVersion := ""
	var current module.Version
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		line := s.Text()
		switch words := strings.Fields(line); {
		case strings.HasPrefix(line, "## "):
			if _, v, ok := strings.Cut(line, "go "); ok {
				goVersion = v
			}
		case strings.HasPrefix(line, "# "):
			current, goVersion = module.Version{}, ""
			// "# PATH VERSION", followed by the replacement, if any. A module that is
			// replaced by a directory is read from there.
			if len(words) >= 3 && words[2] != "=>" && !(len(words) == 5 && words[3] == "=>") {
				current = module.Version{Path: words[1], Version: words[2]}
			}
		case line != "" && current.Path != "":
			if module.Check(current.Path, current.Version) != nil || isSDK(current.Path) {
				current = module.Version{}
				continue
			}
			if err := p.addVendored(vendored{current, path.Join("vendor", current.Path)}, goVersion); err != nil {
				return err
			}
			current = module.Version{} // its further packages
		}
	}
	return nil
}

// addVendored adds a module of the vendor directory, with a go.mod of its own, whose go
// line has goVersion unless that is malformed. It returns an *InputError if there are more
// than maxRequires.
func (p *project) addVendored(v vendored, goVersion string) error {
	if len(p.vendored) >= maxRequires {
		return &InputError{File: p.shown("vendor/modules.txt"), Field: "size", Problem: fmt.Sprintf("more than %d modules", maxRequires), Fix: "vendor what the scenario uses"}
	}
	mod := "module " + modfile.AutoQuote(v.Path) + "\n"
	if modfile.GoVersionRE.MatchString(goVersion) {
		mod += "\ngo " + goVersion + "\n"
	}
	p.files[path.Join(v.dir, "go.mod")] = []byte(mod)
	p.local = append(p.local, localModule{path: v.Path, dir: v.dir, vendored: true})
	p.vendored = append(p.vendored, v)
	return nil
}

// readVendored reads a vendored package into the copy: all files of its directory except
// tests, assembly included, as the go command would use them from the module cache. It
// returns an *InputError if one is refused.
func (p *project) readVendored(dir string) (*pkg, error) {
	entries, err := fs.ReadDir(p.root.FS(), dir)
	if err != nil {
		return nil, &InputError{File: p.shown(dir), Problem: "cannot be read: " + reason(err)}
	}
	var names []string
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case e.IsDir() || strings.HasSuffix(name, "_test.go"):
		case path.Ext(name) == ".go":
			names = append(names, name)
		default:
			data, err := p.read(name, maxEmbedded-p.embedded)
			if err != nil {
				return nil, err
			}
			p.embedded += int64(len(data))
			p.files[name] = data
		}
	}
	out, err := p.readPackage(dir, names)
	if err != nil {
		return nil, err
	}
	out.vendored = true
	return out, nil
}
