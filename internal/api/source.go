package api

import (
	"fmt"
	"net/http"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/run"
)

// sourceLimits bounds the parts of a source, in bytes. sourceBody has room for all of
// them at once.
type sourceLimits struct {
	scenario, goMod, goSum int
	files                  int // all further files together
}

var defaultLimits = sourceLimits{scenario: 512 << 10, goMod: 64 << 10, goSum: 1 << 20, files: 8 << 20}

// Limits of numbers and lengths.
const (
	maxFileCount = 256
	maxPath      = 256 // bytes
	maxTags      = 20
	maxLabel     = 128 // characters of a name or tag
)

// checkLabel returns a name or tag in Unicode's form C, or a problem (422) if it is empty,
// longer than maxLabel, begins or ends with a space, or has characters that cannot be printed.
// Labels are shown unchanged and used for nothing else.
func checkLabel(pointer, label string) (string, error) {
	label = norm.NFC.String(label)
	switch n := utf8.RuneCountInString(label); {
	case !utf8.ValidString(label):
		return "", invalid(pointer, "must be text in UTF-8")
	case n == 0 || n > maxLabel:
		return "", invalid(pointer, fmt.Sprintf("must have 1 to %d characters, it has %d", maxLabel, n))
	case strings.TrimSpace(label) != label:
		return "", invalid(pointer, "begins or ends with a space")
	}
	const joiner, nonJoiner = '\u200d', '\u200c' // of emoji, and of scripts that join letters
	for _, r := range label {
		if r != joiner && r != nonJoiner && (unicode.Is(unicode.C, r) || unicode.In(r, unicode.Zl, unicode.Zp)) {
			return "", invalid(pointer, fmt.Sprintf("has a character that cannot be printed: %U", r))
		}
	}
	return label, nil
}

// checkTags returns the tags as checkLabel does, each once, in their order; never nil. It
// returns a problem (422) if one is not allowed or there are more than maxTags.
func checkTags(pointer string, tags []string) ([]string, error) {
	if len(tags) > maxTags {
		return nil, invalid(pointer, fmt.Sprintf("has %d tags, at most %d are allowed", len(tags), maxTags))
	}
	out := []string{}
	seen := map[string]bool{}
	for i, tag := range tags {
		tag, err := checkLabel(fmt.Sprintf("%s/%d", pointer, i), tag)
		if err != nil {
			return nil, err
		}
		if !seen[tag] {
			out = append(out, tag)
		}
		seen[tag] = true
	}
	return out, nil
}

// checkSource returns a problem if a source is too big or has too many files (413), or has no
// scenario, or a path that is not allowed or appears twice (422); pointer is where the source
// is in the body. It does not parse anything: the build checks what the source says.
func (l sourceLimits) checkSource(pointer string, s run.Source) error {
	if strings.TrimSpace(s.Scenario) == "" {
		return invalid(pointer+"/scenario", "is empty: send a Go file with a function export")
	}
	for _, part := range []struct {
		name string
		text string
		most int
	}{{"scenario", s.Scenario, l.scenario}, {"go_mod", s.GoMod, l.goMod}, {"go_sum", s.GoSum, l.goSum}} {
		if len(part.text) > part.most {
			return tooBig(pointer+"/"+part.name, fmt.Sprintf("has %d bytes, at most %d are allowed", len(part.text), part.most))
		}
	}
	if len(s.Files) > maxFileCount {
		return tooBig(pointer+"/files", fmt.Sprintf("has %d files, at most %d are allowed", len(s.Files), maxFileCount))
	}
	if err := checkFileName(pointer+"/file", s.File); err != nil {
		return err
	}
	bytes := 0
	seen := map[string]bool{strings.ToLower(s.FileName()): true}
	for i, f := range s.Files {
		at := fmt.Sprintf("%s/files/%d/path", pointer, i)
		if err := checkPath(at, f.Path); err != nil {
			return err
		}
		same := strings.ToLower(norm.NFC.String(f.Path)) // on file systems that ignore case
		if seen[same] {
			return invalid(at, "appears twice")
		}
		seen[same] = true
		if bytes += len(f.Data); bytes > l.files {
			return tooBig(pointer+"/files", fmt.Sprintf("has more than %d bytes in all", l.files))
		}
	}
	return nil
}

// checkFileName returns a problem (422) unless the name of a scenario's file is empty, or that
// of a Go file that go build compiles: no folder, test, or name with a dot or _ first.
func checkFileName(pointer, name string) error {
	if name == "" {
		return nil
	}
	if err := checkPath(pointer, name); err != nil {
		return err
	}
	if strings.Contains(name, "/") || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return invalid(pointer, "must be the name of a Go file that is compiled, such as checkout.go")
	}
	return nil
}

// checkPath returns a problem (422) if p is not a clean, relative path with slashes, of 1
// to maxPath bytes, or has a name that some systems do not allow. pointer is its place in
// the body.
func checkPath(pointer, p string) error {
	switch {
	case p == "" || len(p) > maxPath:
		return invalid(pointer, fmt.Sprintf("must have 1 to %d bytes", maxPath))
	case path.Clean(p) != p || path.IsAbs(p) || p == "." || p == ".." || strings.HasPrefix(p, "../"):
		return invalid(pointer, "must be a clean path below the scenario's folder, such as data/users.csv")
	case !utf8.ValidString(p) || strings.ContainsAny(p, `\:*?"<>|`) || strings.ContainsFunc(p, func(r rune) bool { return unicode.Is(unicode.C, r) }):
		return invalid(pointer, "has a character that is not allowed in a path")
	}
	for part := range strings.SplitSeq(p, "/") {
		if strings.HasPrefix(part, "-") || strings.HasSuffix(part, ".") || strings.HasSuffix(part, " ") {
			return invalid(pointer, "has a part that begins with a hyphen, or ends with a dot or a space")
		}
	}
	return nil
}

func tooBig(pointer, detail string) error {
	return refuse(http.StatusRequestEntityTooLarge, types.TooLarge, "a part of the body is too big", types.Detail{Pointer: pointer, Detail: detail})
}
