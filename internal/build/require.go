package build

import (
	"errors"
	"fmt"
	"go/version"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// noModule is the module path of a scenario without a go.mod; stack traces show it.
const noModule = "scenario"

// completeMod returns the go.mod of the copy: the user's (tester; nil if it does not exist),
// plus the SDK and its dependencies, each replaced by its source, which is unpacked in sdkDir.
// The SDK's replace covers every version; a dependency's covers one, so that a user who
// requires a newer version gets it from their proxy. It returns notes, with shown as the
// file's name, on a go line of an older release and on replace lines for the SDK; it raises
// older requirements without a note. It does not change its arguments.
func completeMod(tester, sdk *modfile.File, vendor []vendored, sdkDir, shown string) (data []byte, notes []string, err error) {
	f := new(modfile.File)
	if tester != nil {
		// Parsed again, so that the user's is not changed.
		text, err := tester.Format()
		if err != nil {
			return nil, nil, err
		}
		if f, err = modfile.Parse("go.mod", text, nil); err != nil {
			return nil, nil, err
		}
	} else if err := f.AddModuleStmt(noModule); err != nil {
		return nil, nil, err
	}
	goVersion := sdk.Go.Version
	if f.Go != nil && version.Compare("go"+f.Go.Version, "go"+goVersion) >= 0 {
		goVersion = f.Go.Version
	} else if f.Go != nil && version.Lang("go"+f.Go.Version) != version.Lang("go"+goVersion) {
		notes = append(notes, fmt.Sprintf("%s: go %s is built as go %s, which gobench's packages need", shown, f.Go.Version, goVersion))
	}
	if err := f.AddGoStmt(goVersion); err != nil {
		return nil, nil, err
	}
	wild := map[string]bool{} // modules of which the user replaces every version
	for _, r := range f.Replace {
		switch {
		case forEditor(r): // what it replaces is required below, from this SDK
			if err := errors.Join(dropRequire(f, r.Old), f.DropReplace(r.Old.Path, r.Old.Version)); err != nil {
				return nil, nil, err
			}
		case isSDK(r.Old.Path):
			notes = append(notes, fmt.Sprintf("%s:%d: replace %s is left out: gobench brings its own packages", shown, lineOf(r.Syntax), r.Old.Path))
			if err := f.DropReplace(r.Old.Path, r.Old.Version); err != nil {
				return nil, nil, err
			}
		case r.Old.Version == "":
			wild[r.Old.Path] = true
		}
	}
	if err := f.DropRequire(sdkV2); err != nil {
		return nil, nil, err
	}
	if err := f.AddRequire(sdkPath, sdkVersion); err != nil {
		return nil, nil, err
	}
	if err := f.AddReplace(sdkPath, "", sdkDir+"/gobench", ""); err != nil {
		return nil, nil, err
	}
	have := map[string]string{}
	for _, r := range f.Require {
		have[r.Mod.Path] = r.Mod.Version
	}
	for _, r := range sdk.Require {
		m := r.Mod
		if old, ok := have[m.Path]; !ok {
			f.AddNewRequire(m.Path, m.Version, true)
		} else if semver.Compare(old, m.Version) < 0 {
			if err := f.AddRequire(m.Path, m.Version); err != nil {
				return nil, nil, err
			}
		}
		if wild[m.Path] || replaces(f, m.Path, m.Version) {
			continue // the user's line decides
		}
		dir := sdkDir + "/third_party/" + m.Path + "@" + m.Version
		if err := f.AddReplace(m.Path, m.Version, dir, ""); err != nil {
			return nil, nil, err
		}
	}
	for _, v := range vendor {
		if wild[v.Path] || replaces(f, v.Path, v.Version.Version) {
			continue
		}
		if err := f.AddReplace(v.Path, v.Version.Version, "./"+v.dir, ""); err != nil {
			return nil, nil, err
		}
	}
	f.Cleanup()
	return modfile.Format(f.Syntax), notes, nil
}

// dropRequire removes the requirement of exactly that version, if it exists.
func dropRequire(f *modfile.File, m module.Version) error {
	for _, r := range f.Require {
		if r.Mod == m {
			return f.DropRequire(m.Path)
		}
	}
	return nil
}

// replaces reports whether f has a replace line for exactly that version of a module.
func replaces(f *modfile.File, path, version string) bool {
	for _, r := range f.Replace {
		if r.Old.Path == path && r.Old.Version == version {
			return true
		}
	}
	return false
}
