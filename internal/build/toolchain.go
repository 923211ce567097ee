package build

import (
	"context"
	"encoding/json"
	"fmt"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// toolchain is a go command that can build scenarios.
type toolchain struct {
	Go      string // the command's path
	Root    string // GOROOT
	Version string // "go1.26.8"
}

// stamp identifies a version of a file, to detect changes.
type stamp struct {
	Size int64
	Time time.Time
}

// stampOf returns the stamp of a file, or zero if there is no such file.
func stampOf(name string) stamp {
	info, err := os.Stat(name)
	if err != nil {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime().UTC()}
}

// known is what the cache stores about a go command, so that a cached build runs none: it
// is valid while the command and GOROOT/VERSION do not change.
type known struct {
	toolchain
	Command, VersionFile stamp
}

// findGo returns the first go command that is new enough for the SDK, whose go.mod needs
// version need ("1.26"). The error wraps errNoToolchain and lists the commands that were
// found, or is ctx's cause.
func (b *Builder) findGo(ctx context.Context, need string) (toolchain, error) {
	var old []string
	for _, name := range b.places() {
		t, err := b.identify(ctx, name)
		if err != nil {
			if ctx.Err() != nil {
				return toolchain{}, context.Cause(ctx)
			}
			old = append(old, fmt.Sprintf("%s does not work: %v", name, err))
			continue
		}
		if version.Compare(plain(t.Version), "go"+need) >= 0 {
			return t, nil
		}
		old = append(old, fmt.Sprintf("%s is %s", name, t.Version))
	}
	return toolchain{}, noToolchain(need, old)
}

// Toolchain returns the path of the go command that compiles scenarios, and its version, as
// "go1.26.8". The error describes what to install if Go is missing or too old. It may run go
// commands, each for 20 s at most.
func (b *Builder) Toolchain(ctx context.Context) (path, version string, err error) {
	sdk, err := b.load()
	if err != nil {
		return "", "", err
	}
	tc, err := b.findGo(ctx, sdk.mod.Go.Version)
	return tc.Go, tc.Version, err
}

// noToolchain returns an error that wraps errNoToolchain and describes what to install; old
// lists the commands that cannot be used.
func noToolchain(need string, old []string) error {
	found := "not found in PATH, GOROOT or the usual places"
	if len(old) > 0 {
		found = "found only: " + strings.Join(old, "; ")
	}
	return fmt.Errorf("%w: compiling a scenario needs Go %s or newer (%s)\n"+
		"install it from https://go.dev/dl/ and put its bin directory into PATH;\n"+
		"built-in commands such as gobench http work without Go", errNoToolchain, need, found)
}

// identify returns the version and GOROOT of a go command, which it runs, for 20 s at most,
// unless what it found before is stored and still valid.
func (b *Builder) identify(ctx context.Context, name string) (toolchain, error) {
	file := filepath.Join(b.dir, "marks", "go-"+shortHash(name)+".json")
	var k known
	if data, err := os.ReadFile(file); err == nil && json.Unmarshal(data, &k) == nil &&
		k.Go == name && k.Command == stampOf(name) && k.VersionFile == stampOf(filepath.Join(k.Root, "VERSION")) {
		return k.toolchain, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	home, err := b.home()
	if err != nil {
		return toolchain{}, err
	}
	cmd := exec.CommandContext(ctx, name, "env", "GOVERSION", "GOROOT")
	cmd.Dir = home
	cmd.Env = []string{"GOENV=off", "GOWORK=off", "GOTOOLCHAIN=local", "GOFLAGS=", "HOME=" + home, "PATH=" + filepath.Dir(name)}
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return toolchain{}, fmt.Errorf("%s env: %w", name, err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 2 || !version.IsValid(plain(lines[0])) {
		return toolchain{}, fmt.Errorf("%s env printed %q", name, out)
	}
	k = known{toolchain: toolchain{Go: name, Version: lines[0], Root: lines[1]}}
	k.Command, k.VersionFile = stampOf(name), stampOf(filepath.Join(k.Root, "VERSION"))
	data, err := json.Marshal(k)
	if err != nil {
		return toolchain{}, err
	}
	return k.toolchain, writeFile(file, data)
}

// plain removes what follows a release in a version: "go1.27-devel_abc" and "go1.26.8
// X:exp" become go1.27 and go1.26.8.
func plain(v string) string {
	v, _, _ = strings.Cut(v, " ")
	v, _, _ = strings.Cut(v, "-")
	return v
}

// goPlaces lists the paths of the go commands of this machine, the most likely first: PATH,
// GOROOT, and the directories of Go's installers and packages. It does not run them; nil if
// it finds no command.
func goPlaces() []string {
	exe := "go"
	if runtime.GOOS == "windows" {
		exe = "go.exe"
	}
	var names []string
	add := func(dirs ...string) {
		for _, dir := range dirs {
			name := filepath.Join(dir, exe)
			if info, err := os.Stat(name); err != nil || info.IsDir() || !filepath.IsAbs(name) || slices.Contains(names, name) {
				continue
			}
			names = append(names, name)
		}
	}
	glob := func(pattern string) {
		dirs, _ := filepath.Glob(pattern) // the patterns are valid
		slices.Sort(dirs)
		slices.Reverse(dirs) // the newest first
		add(dirs...)
	}
	add(filepath.SplitList(os.Getenv("PATH"))...)
	if root := os.Getenv("GOROOT"); root != "" {
		add(filepath.Join(root, "bin"))
	}
	add("/usr/local/go/bin", "/opt/go/bin", "/opt/homebrew/bin", "/usr/lib/go/bin", "/snap/bin", `C:\Program Files\Go\bin`)
	glob("/usr/lib/go-*/bin")
	if home, err := os.UserHomeDir(); err == nil {
		add(filepath.Join(home, "go", "bin"), filepath.Join(home, ".local", "go", "bin"))
		glob(filepath.Join(home, "sdk", "go*", "bin"))
	}
	return names
}
