package build

import (
	"bufio"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Person holds the go settings of the user whose scenario is built: where modules come
// from, which are private, and the caches that may hold them already. A server that builds
// for others uses no Person.
type Person struct {
	Vars     map[string]string // GOPROXY, GOPRIVATE ...; only names of personVars are used
	Home     string            // for the credentials of private modules
	Path     string            // where git is found
	GoCache  string            // GOCACHE; "" means gobench's own
	ModCache string            // GOMODCACHE; "" means gobench's own
}

// personVars are the variables that may come from the user: where modules are fetched from
// and how. Programs that git and GOAUTH then run are the same as in the user's shell.
var personVars = []string{
	"GOPROXY", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GONOSUMCHECK", "GOSUMDB", "GOINSECURE", "GOVCS", "GOAUTH",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NETRC",
	"SSH_AUTH_SOCK", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_CONFIG_GLOBAL", "XDG_CONFIG_HOME",
}

// ThisPerson reads the settings from the environment of this process and, for variables that
// are empty or not set there, from the file that go env -w writes, if it can be read.
func ThisPerson() *Person {
	home, _ := os.UserHomeDir() // if "", nothing that needs a home is used
	return personOf(os.LookupEnv, home)
}

// personOf is ThisPerson of an environment and a home directory; home "" means unknown.
func personOf(lookup func(string) (string, bool), home string) *Person {
	saved := savedEnv(lookup, home)
	get := func(name string) string {
		if v, ok := lookup(name); ok && v != "" {
			return v
		}
		return saved[name]
	}
	p := &Person{Vars: map[string]string{}, Home: home, Path: get("PATH")}
	for _, name := range personVars {
		if v := get(name); v != "" {
			p.Vars[name] = v
		}
	}
	// go's own rules for the location of its caches (go help environment).
	if p.GoCache = get("GOCACHE"); p.GoCache == "" && home != "" {
		p.GoCache = filepath.Join(cacheHome(lookup, home), "go-build")
	}
	if !filepath.IsAbs(p.GoCache) { // GOCACHE=off too
		p.GoCache = ""
	}
	if p.ModCache = get("GOMODCACHE"); p.ModCache == "" {
		gopath := filepath.SplitList(get("GOPATH"))
		switch {
		case len(gopath) > 0:
			p.ModCache = filepath.Join(gopath[0], "pkg", "mod")
		case home != "":
			p.ModCache = filepath.Join(home, "go", "pkg", "mod")
		}
	}
	if !filepath.IsAbs(p.ModCache) {
		p.ModCache = ""
	}
	return p
}

// savedEnv reads the file that go env -w writes, of which it returns the variables that begin
// with GO; the result is empty, and may be nil, if there is no file that can be read.
func savedEnv(lookup func(string) (string, bool), home string) map[string]string {
	name, ok := lookup("GOENV")
	switch {
	case ok && name == "off":
		return nil
	case !ok || name == "":
		name = filepath.Join(configHome(lookup, home), "go", "env")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	vars := map[string]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		if name, v, ok := strings.Cut(s.Text(), "="); ok && strings.HasPrefix(name, "GO") {
			vars[name] = v
		}
	}
	return vars
}

func configHome(lookup func(string) (string, bool), home string) string {
	return systemHome(lookup, "XDG_CONFIG_HOME", home, ".config", "Library/Application Support")
}

func cacheHome(lookup func(string) (string, bool), home string) string {
	return systemHome(lookup, "XDG_CACHE_HOME", home, ".cache", "Library/Caches")
}

// systemHome returns the directory that the variable xdg names, if that is absolute, or
// else unix below home; on macOS always mac below home.
func systemHome(lookup func(string) (string, bool), xdg, home, unix, mac string) string {
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, filepath.FromSlash(mac))
	}
	if dir, ok := lookup(xdg); ok && filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(home, unix)
}
