package build

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
)

// cpus returns how many packages are compiled at once, as text: one per processor, but eight
// at most, as their compilers fit into the memory limit; "1" if o.idle.
func cpus(o Options) string {
	if o.idle {
		return "1"
	}
	return strconv.Itoa(min(runtime.GOMAXPROCS(0), 8))
}

// buildArgs are the arguments of go build, for the package in the current directory. They
// are part of an executor's key; the program's name follows.
var buildArgs = []string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w"}

// goEnv returns the whole environment of the go command, NAME=VALUE: what it needs, and of the
// user's environment only where modules come from. GOFLAGS and GOENV are not passed on, so no
// setting can replace the compiler by another program. CGO_ENABLED=0 excludes every C
// compiler. o must have its defaults; tmp is for temporary files and must exist.
func (b *Builder) goEnv(tc toolchain, o Options, tmp string) ([]string, error) {
	home, err := b.home()
	if err != nil {
		return nil, err
	}
	env := map[string]string{
		"GOENV": "off", "GOWORK": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0",
		"GOFLAGS": "-mod=mod", "GO111MODULE": "on",
		"GOOS": o.GOOS, "GOARCH": o.GOARCH, "GOROOT": tc.Root,
		"GOPROXY": "off", "GOSUMDB": "off", "GOVCS": "*:off",
		"GOCACHE": filepath.Join(b.dir, "go-build"), "GOMODCACHE": b.modCache(o), "GOPATH": filepath.Join(b.dir, "gopath"),
		"GOTMPDIR": tmp, "TMPDIR": tmp, "HOME": home, "PATH": filepath.Dir(tc.Go),
	}
	if runtime.GOOS == "windows" {
		for _, name := range []string{"SystemRoot", "windir", "TEMP", "TMP"} {
			env[name] = os.Getenv(name)
		}
	}
	if p := o.Person; p != nil {
		// What the user did not set has go's default, not gobench's.
		env["GOPROXY"], env["GOSUMDB"] = "https://proxy.golang.org,direct", "sum.golang.org"
		delete(env, "GOVCS")
		for name, value := range p.Vars {
			if slices.Contains(personVars, name) {
				env[name] = value
			}
		}
		if env["GOPROXY"] == "off" && p.Vars["GOSUMDB"] == "" {
			env["GOSUMDB"] = "off" // it would be queried over the network
		}
		if p.Home != "" {
			env["HOME"] = p.Home
		}
		if p.Path != "" {
			env["PATH"] = env["PATH"] + string(filepath.ListSeparator) + p.Path
		}
		if p.GoCache != "" {
			env["GOCACHE"] = p.GoCache
		}
	}
	if o.Person == nil || o.Person.ModCache == "" {
		env["GOFLAGS"] += " -modcacherw" // so that gobench's own can be removed
	}
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list, nil
}

// home returns a home directory for the go command that is empty but for the file that
// switches telemetry off. It creates it if needed.
func (b *Builder) home() (string, error) {
	home := filepath.Join(b.dir, "home")
	mode := filepath.Join(configHome(func(string) (string, bool) { return "", false }, home), "go", "telemetry", "mode")
	if _, err := os.Stat(mode); err == nil {
		return home, nil
	}
	if err := writeFile(mode, []byte("off\n")); err != nil {
		return "", fmt.Errorf("make go's home: %w", err)
	}
	return home, nil
}

// offline reports whether nothing can be fetched.
func (o Options) offline() bool { return o.Person == nil || o.Person.Vars["GOPROXY"] == "off" }

// modCache returns the directory in which modules are unpacked: the user's or gobench's
// own.
func (b *Builder) modCache(o Options) string {
	if o.Person != nil && o.Person.ModCache != "" {
		return o.Person.ModCache
	}
	return filepath.Join(b.dir, "mod")
}
