package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// namespaceEnv tells a copy of this test binary that it runs in a network namespace
// of its own, where localhost:8080 is free.
const namespaceEnv = "GOBENCH_TEST_NAMESPACE"

// TestPublishedScenarios runs the scenarios of the article and the first README as
// they were printed, against a real nginx at localhost:8080, in a network namespace
// that the test makes.
func TestPublishedScenarios(t *testing.T) {
	t.Parallel()
	if os.Getenv(namespaceEnv) == "" {
		inNamespace(t, "TestPublishedScenarios")
		return
	}
	// S0 prints. Its users never look at their context.
	t.Run("article", func(t *testing.T) {
		t.Parallel()
		r, printed := runPublished(t, "testdata/scenario/s0/scenario.go", "1s")
		if n := strings.Count(printed, "tic toc"); n < 12 {
			t.Errorf("it printed %d times, want 12 or more", n)
		}
		if r.Config.Classes[0].Users != 12 || !strings.Contains(strings.Join(r.Notes, "\n"), "12 users of class f went on") {
			t.Errorf("classes %v, notes %q", r.Config.Classes, r.Notes)
		}
	})
	// S2 sends 50 requests a second, by Poisson pauses. Four runs side by side give
	// 100 s of it: 5,000 requests, of which 5 % is 3.5 standard deviations.
	t.Run("readme", func(t *testing.T) {
		t.Parallel()
		nginx := servers.Nginx(t, "listen 127.0.0.1:8080;")
		var mu sync.Mutex
		var seconds float64
		var answered int64
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				r, _ := runPublished(t, "testdata/scenario/s2/scenario.go", "25s")
				mu.Lock()
				defer mu.Unlock()
				seconds += r.Seconds
				answered += total(r, "home.http_ok")
				if n := total(r, "home.http_fail") + total(r, "home.http_other_fail"); n != 0 {
					t.Errorf("%d requests failed", n)
				}
			})
		}
		wg.Wait()
		if rate := float64(answered) / seconds; math.Abs(rate-50) > 2.5 {
			t.Errorf("%d requests in %.1f s: %.1f/s, want 50 +- 5 %%", answered, seconds, rate)
		}
		nginx.Stop(t)
		if logged := len(nginx.Log(t)); int64(logged) != answered {
			t.Errorf("nginx answered %d requests, the runs counted %d", logged, answered)
		}
	})
}

// TestReadme runs the scenario that the README prints.
func TestReadme(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(page), "```go\n")
	code, _, found := strings.Cut(code, "```")
	if !found {
		t.Fatal("no Go code in README.md")
	}
	srv := newTarget()
	defer srv.Close()
	file := filepath.Join(t.TempDir(), "scenario.go")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(code, "http://localhost:8080", srv.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	r, _ := runPublished(t, file, "1s")
	if n := total(r, "home.http_ok"); n == 0 || n != srv.served.Load() {
		t.Errorf("%d answers counted, %d sent", n, srv.served.Load())
	}
}

// TestExamples runs each example against a server of the test's.
func TestExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("examples/*/scenario.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			t.Parallel()
			srv := newTarget()
			defer srv.Close()
			if r, _ := runPublished(t, file, "2s", "--set", "url="+srv.URL); len(r.Errors) > 0 || srv.served.Load() == 0 {
				t.Errorf("%d requests, errors %v", srv.served.Load(), r.Errors)
			}
		})
	}
}

// total is what a counter of r adds up to.
func total(r *run.Result, title string) int64 {
	for _, m := range r.Metrics {
		if m.Title == title && m.Count != nil {
			return *m.Count
		}
	}
	return 0
}

// readResult reads what -o has written.
func readResult(t *testing.T, file string) *run.Result {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r := new(run.Result)
	if err := json.Unmarshal(b, r); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return r
}

// runPublished runs a scenario and gives its result and what it printed.
func runPublished(t *testing.T, scenario, duration string, more ...string) (*run.Result, string) {
	dir := t.TempDir()
	out := filepath.Join(dir, "result.json")
	args := []string{"--dir", filepath.Join(dir, "data"), "run", scenario, "--duration", duration, "-o", out}
	cmd := exec.Command("gobench", append(args, more...)...)
	cmd.Env = append(os.Environ(), "GOBENCH_NO_WARM=1")
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("gobench: %v\n%s", err, text)
	}
	r := readResult(t, out)
	if !r.Complete || r.State != run.Finished {
		t.Errorf("state %s, missing %v", r.State, r.Missing)
	}
	return r, string(text)
}

// inNamespace runs a test again in a network namespace of its own.
func inNamespace(t *testing.T, name string) {
	t.Helper()
	test := fmt.Sprintf("ip link set lo up && exec %q -test.run='^%s$' -test.v -test.count=1", os.Args[0], name)
	args := []string{"--net", "sh", "-c", test}
	if os.Geteuid() != 0 {
		args = append([]string{"--user", "--map-root-user"}, args...)
	}
	cmd := exec.Command("unshare", args...)
	cmd.Env = append(os.Environ(), namespaceEnv+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("in a network namespace: %v (as root, or with user namespaces: sysctl -w kernel.unprivileged_userns_clone=1)\n%s", err, out)
	}
	if !strings.Contains(string(out), "--- PASS: "+name) {
		t.Fatalf("the test did not run:\n%s", out)
	}
}
