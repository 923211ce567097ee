package build

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode"
)

// readEmbedded adds the files that the file's //go:embed lines name to the copy. A pattern
// that the go command refuses (.. and absolute names) adds nothing; the go command then
// reports it. It returns an *InputError if a file is refused.
func (p *project) readEmbedded(f *goFile) error {
	for _, group := range f.ast.Comments {
		for _, c := range group.List {
			rest, ok := strings.CutPrefix(c.Text, "//go:embed")
			if !ok || rest == "" || (rest[0] != ' ' && rest[0] != '\t') {
				continue
			}
			for _, pattern := range embedPatterns(rest) {
				if err := p.embed(f, f.line(c.Pos()), pattern); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// embedPatterns splits the arguments of //go:embed: words, or Go strings. It ends at a
// malformed string.
func embedPatterns(s string) []string {
	var out []string
	for s = strings.TrimLeftFunc(s, unicode.IsSpace); s != ""; s = strings.TrimLeftFunc(s, unicode.IsSpace) {
		if s[0] == '"' || s[0] == '`' {
			quoted, err := strconv.QuotedPrefix(s)
			if err != nil {
				return out
			}
			word, _ := strconv.Unquote(quoted) // QuotedPrefix has checked it
			out, s = append(out, word), s[len(quoted):]
			continue
		}
		end := strings.IndexFunc(s, unicode.IsSpace)
		if end < 0 {
			end = len(s)
		}
		out, s = append(out, s[:end]), s[end:]
	}
	return out
}

// embed adds the files of one pattern, relative to the directory of f, to the copy; a pattern
// without a match adds none. It returns an *InputError for a link, a file that is not regular,
// cannot be read or is too big, or one file too many.
func (p *project) embed(f *goFile, line int, pattern string) error {
	pattern, hidden := strings.CutPrefix(pattern, "all:")
	if !fs.ValidPath(pattern) {
		return nil
	}
	dir := path.Dir(f.name)
	sub, err := fs.Sub(p.root.FS(), dir)
	if err != nil {
		return err
	}
	matches, err := fs.Glob(sub, pattern)
	if err != nil {
		return nil // a malformed pattern: the go command reports it
	}
	refuse := func(name, problem, fix string) error {
		return &InputError{File: p.shown(f.name), Line: line, Field: "go:embed", Problem: p.shown(path.Join(dir, name)) + " " + problem, Fix: fix}
	}
	for _, match := range matches {
		if info, err := p.root.Lstat(path.Join(dir, match)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return refuse(match, "is a link", "links cannot be embedded: embed the file itself")
		}
		err := fs.WalkDir(sub, match, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return refuse(name, "cannot be read: "+reason(err), "")
			}
			base := path.Base(name)
			if name != match && !hidden && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			switch {
			case d.IsDir() && name != "." && p.exists(path.Join(dir, name, "go.mod")):
				return fs.SkipDir // another module
			case d.IsDir():
				return nil
			case !d.Type().IsRegular():
				return refuse(name, "is not a regular file", "only files can be embedded")
			}
			full := path.Join(dir, name)
			if _, ok := p.files[full]; ok {
				return nil
			}
			data, err := p.read(full, maxEmbedded-p.embedded)
			if err != nil {
				return err
			}
			if p.embedded += int64(len(data)); len(p.files) >= maxFiles {
				return refuse(name, "is one file too many", "embed an archive")
			}
			p.files[full] = data
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
