package main

import (
	"io/fs"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// The binary carries every package that a scenario is compiled against, on each
// platform, and no more.
func TestSDK(t *testing.T) {
	t.Parallel()
	carried := map[string]bool{}
	err := fs.WalkDir(sdk, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") && !strings.Contains(name, "testdata/") {
			carried[path.Dir(name)] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	needed := map[string]bool{}
	for _, platform := range []string{"linux/amd64", "linux/arm64", "darwin/arm64", "windows/amd64"} {
		goos, goarch, _ := strings.Cut(platform, "/")
		cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.ImportPath}}{{end}}{{end}}",
			"./clients/...", "./dis/...", "./executor/...")
		cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go list: %v\n%s", err, out)
		}
		for _, p := range strings.Fields(string(out)) {
			needed[strings.TrimPrefix(p, "github.com/gobench-io/gobench/")] = true
		}
	}
	var missing, idle []string
	for dir := range needed {
		if !carried[dir] {
			missing = append(missing, dir)
		}
	}
	for dir := range carried {
		if !needed[dir] {
			idle = append(idle, dir)
		}
	}
	slices.Sort(missing)
	slices.Sort(idle)
	if len(missing) > 0 {
		t.Errorf("scenarios need %v: add them to go:embed in embed.go", missing)
	}
	if len(idle) > 0 {
		t.Errorf("no scenario needs %v: take them out of go:embed in embed.go", idle)
	}
}
