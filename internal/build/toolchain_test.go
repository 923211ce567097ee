package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeGo is a go command that prints its version and counts its calls.
func fakeGo(t *testing.T, dir, version, root string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "go")
	text := fmt.Sprintf("#!/bin/sh\necho x >> %s/asked\necho '%s'\necho '%s'\n", dir, version, root)
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

func asked(t *testing.T, name string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(filepath.Dir(name), "asked"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Count(string(data), "x")
}

func TestNoToolchain(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"scenario.go": small, "broken/go": "#!/bin/sh\nexit 3\n"})
	if err := os.Chmod(filepath.Join(dir, "broken", "go"), 0o755); err != nil {
		t.Fatal(err)
	}
	old := fakeGo(t, filepath.Join(dir, "old"), "go1.19.8", "/nowhere")
	for _, tt := range []struct {
		name   string
		places []string
		want   []string
	}{
		{"none", nil, []string{"not found in PATH"}},
		{"too old", []string{old}, []string{"found only: " + old + " is go1.19.8"}},
		{"broken", []string{filepath.Join(dir, "broken", "go"), old}, []string{"broken/go does not work", "go1.19.8"}},
	} {
		b := newBuilderIn(t, t.TempDir())
		b.places = func() []string { return tt.places }
		_, err := b.Build(context.Background(), Source{Path: dir}, Options{})
		if !errors.Is(err, errNoToolchain) {
			t.Fatalf("%s: error = %v, want errNoToolchain", tt.name, err)
		}
		for _, w := range append(tt.want, "needs Go 1.26.0 or newer", "https://go.dev/dl/", "gobench http work without Go") {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: error %q does not say %q", tt.name, err, w)
			}
		}
		if err := b.Warm(context.Background(), Options{}); !errors.Is(err, errNoToolchain) {
			t.Errorf("%s: Warm gives %v", tt.name, err)
		}
	}
}

// The first go command that is new enough is used; it is run once, and again if it or its
// GOROOT changed.
func TestFindGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	old := fakeGo(t, filepath.Join(dir, "old"), "go1.19", root)
	good := fakeGo(t, filepath.Join(dir, "good"), "go1.27-devel_abc X:exp", root)
	b := newBuilderIn(t, t.TempDir())
	b.places = func() []string { return []string{old, good} }
	find := func(asks int) {
		t.Helper()
		tc, err := b.findGo(context.Background(), "1.26.0")
		if err != nil || tc.Go != good || tc.Root != root {
			t.Fatalf("found %+v, %v", tc, err)
		}
		if n := asked(t, good); n != asks {
			t.Errorf("asked %d times, want %d", n, asks)
		}
	}
	find(1)
	find(1)
	if err := os.WriteFile(filepath.Join(root, "VERSION"), []byte("go1.28"), 0o644); err != nil {
		t.Fatal(err)
	}
	find(2)
	find(2)
	fakeGo(t, filepath.Dir(good), "go1.28.1", root)
	find(3)
}

func TestGoPlaces(t *testing.T) {
	home := t.TempDir()
	var want []string
	for _, d := range []string{"path", "root/bin", "home/sdk/go1.27.0/bin", "home/sdk/go1.26.8/bin"} {
		want = append(want, fakeGo(t, filepath.Join(home, d), "go1.26", ""))
	}
	t.Setenv("PATH", "relative"+string(filepath.ListSeparator)+filepath.Join(home, "path"))
	t.Setenv("GOROOT", filepath.Join(home, "root"))
	t.Setenv("HOME", filepath.Join(home, "home"))
	got := goPlaces()
	at := 0
	for _, name := range got {
		if at < len(want) && name == want[at] {
			at++
		}
	}
	if at != len(want) {
		t.Errorf("places %q lack, in this order, %q", got, want)
	}
}

func TestPerson(t *testing.T) {
	t.Parallel()
	home := files(t, map[string]string{
		".config/go/env": "GOPROXY=https://saved.example\nGOPRIVATE=saved.example/*\nGOFLAGS=-toolexec=/bin/evil\n# x\n",
		"other":          "GOPROXY=https://other.example\n",
	})
	lookup := func(env map[string]string) func(string) (string, bool) {
		return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	}
	for _, tt := range []struct {
		name            string
		env             map[string]string
		proxy, private  string
		cache, modCache string
	}{
		{"saved by go env -w", nil, "https://saved.example", "saved.example/*", home + "/.cache/go-build", home + "/go/pkg/mod"},
		{"the environment goes before", map[string]string{"GOPROXY": "off", "GOPATH": "/a:/b", "XDG_CACHE_HOME": "/c"}, "off", "saved.example/*", "/c/go-build", "/a/pkg/mod"},
		{"GOENV=off", map[string]string{"GOENV": "off", "GOCACHE": "off", "GOMODCACHE": "/m"}, "", "", "", "/m"},
		{"another GOENV", map[string]string{"GOENV": home + "/other", "GOCACHE": "/g"}, "https://other.example", "", "/g", home + "/go/pkg/mod"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := personOf(lookup(tt.env), home)
			if p.Vars["GOPROXY"] != tt.proxy || p.Vars["GOPRIVATE"] != tt.private || p.GoCache != tt.cache || p.ModCache != tt.modCache {
				t.Errorf("person = %+v", p)
			}
			if p.Vars["GOFLAGS"] != "" {
				t.Error("GOFLAGS was taken")
			}
			b := newBuilder(t)
			env, err := b.goEnv(toolchain{Go: "/go/bin/go", Root: "/go"}, Options{Person: p}.withDefaults(), "/tmp/x")
			if err != nil {
				t.Fatal(err)
			}
			all := "\n" + strings.Join(env, "\n") + "\n"
			for _, want := range []string{"GOENV=off", "GOWORK=off", "GOTOOLCHAIN=local", "CGO_ENABLED=0", "GOFLAGS=-mod=mod"} {
				if !strings.Contains(all, "\n"+want+"\n") {
					t.Errorf("environment lacks %s:%s", want, all)
				}
			}
			if tt.proxy != "" && !strings.Contains(all, "\nGOPROXY="+tt.proxy+"\n") {
				t.Errorf("environment lacks the person's GOPROXY:%s", all)
			}
		})
	}
}

// A build without a Person gets nothing of the process's environment.
func TestCleanEnvironment(t *testing.T) {
	for _, name := range []string{"GOFLAGS", "GOPROXY", "CC", "LD_PRELOAD", "GODEBUG", "GOEXPERIMENT", "SECRET"} {
		t.Setenv(name, "evil")
	}
	b := newBuilder(t)
	env, err := b.goEnv(toolchain{Go: "/go/bin/go", Root: "/go"}, Options{}.withDefaults(), "/tmp/x")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range env {
		if strings.Contains(v, "evil") {
			t.Errorf("%s came through", v)
		}
	}
	for _, want := range []string{"GOPROXY=off", "GOVCS=*:off", "GOSUMDB=off", "HOME=" + filepath.Join(b.dir, "home"), "PATH=/go/bin"} {
		found := false
		for _, v := range env {
			found = found || v == want
		}
		if !found {
			t.Errorf("environment %q lacks %s", env, want)
		}
	}
}
