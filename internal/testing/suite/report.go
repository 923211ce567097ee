package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// event is a line of go test -json (go doc test2json).
type event struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Output      string
	Elapsed     float64
	FailedBuild string
}

// result is a package or a test that has ended.
type result struct {
	name    string
	outcome string // pass, fail or skip
	seconds float64
	cpu     time.Duration // of a package, if it is known
}

// report collects the events of several go tests at once. First read is called for each go
// test, concurrently, then usage, and print and failed.
type report struct {
	out io.Writer // lines of packages, output of failures

	mu       sync.Mutex
	packages []result
	tests    []result
	passed   int
	failures int
	output   map[string][]string // lines of what has not ended, by package and test
	paused   map[string]bool     // tests that wait for their turn to run in parallel
}

// read adds the events in in until its end and returns how many there were. Lines that are
// no events are printed.
func (r *report) read(in io.Reader) (events int, err error) {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil {
				events++
				r.add(e)
			} else {
				r.write(string(line))
			}
		}
		if err == io.EOF {
			return events, nil
		} else if err != nil {
			return events, err
		}
	}
}

func (r *report) write(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprint(r.out, s)
}

// add adds one event. It prints what belongs to a test or package that has ended. It may be
// called concurrently.
func (r *report) add(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.output == nil {
		r.output, r.paused = map[string][]string{}, map[string]bool{}
	}
	key := e.Package + " " + e.Test
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "pause", "cont":
		r.paused[key] = e.Action == "pause"
	case "output":
		r.output[key] = append(r.output[key], e.Output)
	case "pass", "fail", "skip":
		if e.Test != "" {
			r.endTest(e, key)
		} else {
			r.endPackage(e, key)
		}
		delete(r.output, key)
	}
}

// endTest notes a test's end, and prints what it wrote if it failed or was skipped, which
// counts as a failure too. Subtests are counted, but not listed among the slowest. The caller
// must hold mu.
func (r *report) endTest(e event, key string) {
	sub := strings.Contains(e.Test, "/")
	switch e.Action {
	case "pass":
		r.passed++
	default:
		r.failures++ // a skipped test has shown nothing
		fmt.Fprint(r.out, strings.Join(r.output[key], ""))
	}
	if !sub {
		r.tests = append(r.tests, result{name: short(e.Package) + " " + e.Test, outcome: e.Action, seconds: e.Elapsed})
	}
}

// endPackage notes a package's end and prints its line, "ok", "FAIL" or "?" with the package and
// the seconds, after the output of what failed or never ended, which counts as one failure. The
// caller must hold mu.
func (r *report) endPackage(e event, key string) {
	if e.Action == "fail" {
		open := r.open(e.Package)
		for _, k := range open {
			if !r.paused[k] {
				fmt.Fprint(r.out, strings.Join(relevant(r.output[k]), ""))
			}
			delete(r.output, k)
		}
		fmt.Fprint(r.out, strings.Join(r.output[key], ""))
		if len(open) > 0 || e.FailedBuild != "" {
			r.failures++
		}
	}
	word := map[string]string{"pass": "ok  ", "fail": "FAIL", "skip": "?   "}[e.Action]
	fmt.Fprintf(r.out, "%s\t%s\t%.1fs\n", word, e.Package, e.Elapsed)
	r.packages = append(r.packages, result{name: short(e.Package), outcome: e.Action, seconds: e.Elapsed})
}

// open returns the keys ("PACKAGE TEST") of the package's tests that printed something and
// never ended, because of a panic or a timeout, sorted. The caller must hold mu.
func (r *report) open(pkg string) []string {
	var open []string
	for k := range r.output {
		if strings.HasPrefix(k, pkg+" Test") {
			open = append(open, k)
		}
	}
	slices.Sort(open)
	return open
}

// longestOutput is how many lines of a test that never ended are printed, without its
// stacks.
const longestOutput = 30

// relevant returns the first line and the last longestOutput lines that a test that never ended
// printed before a panic, the panic's own text, and of the stacks those with code of a test.
func relevant(lines []string) []string {
	before, dump := lines, []string(nil)
	for i, line := range lines {
		if strings.HasPrefix(line, "panic: ") {
			before, dump = lines[:i], lines[i:]
			break
		}
	}
	kept := slices.Clone(before[:min(1, len(before))])
	kept = append(kept, before[max(min(1, len(before)), len(before)-longestOutput):]...)
	for i, stack := range strings.SplitAfter(strings.Join(dump, ""), "\n\n") {
		if i == 0 || !strings.HasPrefix(stack, "goroutine ") || strings.Contains(stack, "_test.go:") {
			kept = append(kept, stack)
		}
	}
	return kept
}

// short returns an import path without the module's.
func short(path string) string {
	return strings.TrimPrefix(path, "github.com/gobench-io/gobench/")
}

// usage adds to the packages that have ended the CPU time that the files in dir have (measured
// writes them): to each whose path their folder's ends with. Files that it cannot read are
// skipped. No test may run any more.
func (r *report) usage(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	for _, name := range files {
		var u usage
		if b, err := os.ReadFile(name); err != nil || json.Unmarshal(b, &u) != nil {
			continue
		}
		for i, p := range r.packages {
			if strings.HasSuffix(filepath.ToSlash(u.Dir), "/"+p.name) {
				r.packages[i].cpu = u.CPU
			}
		}
	}
}

// failed reports whether anything failed.
func (r *report) failed() bool {
	return r.failures > 0 || slices.ContainsFunc(r.packages, func(p result) bool { return p.outcome == "fail" })
}

// print writes the slowest packages and tests, at most most of each, and the totals. No
// test may run any more.
func (r *report) print(most int, took time.Duration) {
	w := r.out
	slowest := func(all []result) []result {
		sorted := slices.Clone(all)
		slices.SortFunc(sorted, func(a, b result) int { return cmp.Compare(b.seconds, a.seconds) })
		return sorted[:min(most, len(sorted))]
	}
	var cpu time.Duration
	for _, p := range r.packages {
		cpu += p.cpu
	}
	fmt.Fprintf(w, "\nThe %d slowest packages      wall       CPU\n", most)
	for _, p := range slowest(r.packages) {
		fmt.Fprintf(w, "  %-27s %5.1f s  %6.1f s\n", p.name, p.seconds, p.cpu.Seconds())
	}
	fmt.Fprintf(w, "The %d slowest tests\n", most)
	for _, t := range slowest(r.tests) {
		fmt.Fprintf(w, "  %5.1f s  %s\n", t.seconds, t.name)
	}
	fmt.Fprintf(w, "%d packages in %.0f s; the tests themselves used %.0f s of CPU\n", len(r.packages), took.Seconds(), cpu.Seconds())
	fmt.Fprintf(w, "%d passed, %d failed\n", r.passed, r.failures)
}
