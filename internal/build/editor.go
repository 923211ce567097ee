package build

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

// EditorDir is the folder, beside a scenario's go.mod, in which editors and go vet find
// the SDK: the lines of go.mod that Require adds point there. A build leaves those lines
// out, since it brings the SDK of its own gobench.
const EditorDir = ".gobench"

// editorSDK is EditorDir's SDK as a go.mod names it.
const editorSDK = "./" + EditorDir + "/sdk"

// forEditor reports whether a line of go.mod is one for editors.
func forEditor(r *modfile.Replace) bool {
	return r.New.Version == "" && strings.HasPrefix(r.New.Path, editorSDK+"/")
}

// Require returns own, a go.mod, with a requirement of the SDK below EditorDir added; name
// is the file's name in errors. Lines of an earlier call are replaced. The error is an
// [*InputError] if own does not parse. It writes no file.
func (s SDK) Require(name string, own []byte) ([]byte, error) {
	files, err := s.load()
	if err != nil {
		return nil, err
	}
	f, err := modfile.Parse(name, own, nil)
	if err != nil {
		return nil, syntaxError(name, err)
	}
	mod, _, err := completeMod(f, files.mod, nil, editorSDK, name)
	if err != nil {
		return nil, err
	}
	return tidied(mod)
}

// tidied returns a go.mod as go mod tidy would leave it, with the lines for editors, which
// mod must have, together at its end.
func tidied(mod []byte) ([]byte, error) {
	var theirs, ours strings.Builder
	for line := range strings.Lines(string(mod)) {
		if rest, ok := strings.CutPrefix(line, "replace "); ok && strings.Contains(line, "=> "+editorSDK+"/") {
			ours.WriteString("\t" + rest)
			continue
		}
		theirs.WriteString(line)
	}
	text := theirs.String() + "\n// For editors and go vet: gobench init --sdk writes these. gobench run needs none.\nreplace (\n" + ours.String() + ")\n"
	f, err := modfile.Parse("go.mod", []byte(text), nil)
	if err != nil {
		return nil, err
	}
	f.SetRequireSeparateIndirect(f.Require)
	f.Cleanup()
	return f.Format()
}

// WriteEditorDir writes the SDK below dir's EditorDir, replacing an existing one. On an
// error that is removed, and a part of the new one may be left.
func (s SDK) WriteEditorDir(dir string) error {
	files, err := s.load()
	if err != nil {
		return err
	}
	root := filepath.Join(dir, EditorDir, "sdk")
	if err := os.RemoveAll(root); err != nil {
		return fmt.Errorf("remove the old SDK: %w", err)
	}
	write := func(name string, data []byte) error {
		return writeSource(filepath.Join(root, filepath.FromSlash(name)), data)
	}
	for _, name := range files.names {
		if err := write("gobench/"+name, files.sources[name]); err != nil {
			return err
		}
	}
	return eachDep(files.deps, func(name string, r io.Reader) error {
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		return write(name, data)
	})
}
