package docs

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/repo"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// TestReadme runs the scenario that the README prints.
func TestReadme(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(repo.Path(t, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(page), "```go\n")
	code, _, found := strings.Cut(code, "```")
	if !found {
		t.Fatal("no Go code in README.md")
	}
	srv := servers.NewTarget(t)
	file := filepath.Join(t.TempDir(), "scenario.go")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(code, "http://localhost:8080", srv.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	r, _ := binary.RunScenario(t, file, "1s")
	if n := binary.Total(r, "home.http_ok"); n == 0 || n != srv.Served() {
		t.Errorf("%d answers counted, %d sent", n, srv.Served())
	}
}

// TestExamples runs each example against a server in the test.
func TestExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(repo.Path(t, "examples/*/scenario.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			t.Parallel()
			srv := servers.NewTarget(t)
			url, served := srv.URL, srv.Served
			if own := filepath.Join(filepath.Dir(file), "api"); isDir(own) {
				url, served = serve(t, own), func() int64 { return 1 }
			}
			r, _ := binary.RunScenario(t, file, "6s", "--set", "url="+url)
			if len(r.Errors) > 0 || served() == 0 {
				t.Errorf("%d requests, errors %v", served(), r.Errors)
			}
			for _, x := range r.Thresholds {
				if !x.OK && !strings.Contains(x.Expression, "latency") { // a busy host may be slow
					t.Errorf("threshold %s: %s %s", x.Expression, x.Value, x.Reason)
				}
			}
		})
	}
}

// The tutorial has the whole example that it explains.
func TestTutorial(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		b, err := os.ReadFile(repo.Path(t, path))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	code := read("examples/login/scenario.go")
	code = code[strings.Index(code, "package main"):]
	if !strings.Contains(read("docs/tutorial.md"), "```go\n"+code+"```\n") {
		t.Error("docs/tutorial.md does not have examples/login/scenario.go as it is")
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// serve builds the server in dir, starts it on a free port until the test ends, and returns the
// URL that it prints.
func serve(t *testing.T, dir string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "server")
	if out, err := exec.Command("go", "build", "-C", dir, "-o", file, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	server := exec.Command(file, "-addr", "127.0.0.1:0")
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("it printed no URL: ", lines.Err())
	}
	return lines.Text()
}
