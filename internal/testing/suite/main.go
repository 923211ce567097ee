// Command suite runs the tests of the packages it is given, those under the race detector
// beside the others, and ends with the slowest packages and tests.
//
//	go run ./internal/testing/suite -race './internal/load/... ./clients/...' ./...
//
// It prints one line a package, as go test does, and the whole output of what failed. The
// exit status is 1 if a test failed or a package did not build.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	if file := os.Getenv(usageFileEnv); file != "" && len(os.Args) > 1 {
		os.Exit(measured(file, os.Args[1:])) // go test -exec started this program
	}
	s := suite{report: report{out: os.Stdout}}
	race := flag.String("race", "", "`PATTERNS` of the packages that run under the race detector, separated by spaces")
	first := flag.String("first", "", "`PATTERNS` of packages to begin with: those that take longest")
	flag.StringVar(&s.tags, "tags", "", "build tags")
	flag.IntVar(&s.parallel, "p", 2, "packages at once under the race detector, and as many without")
	flag.DurationVar(&s.timeout, "timeout", 8*time.Minute, "longest that a package may take")
	flag.IntVar(&s.most, "slowest", 10, "how many packages and tests to list at the end")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := s.run(ctx, strings.Fields(*race), strings.Fields(*first), flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		stop()
		os.Exit(1)
	}
}

// suite is one run of the tests.
type suite struct {
	tags     string
	parallel int
	timeout  time.Duration
	most     int
	report   report
}

// run tests the packages that patterns name, or all, those of first before the others, and of
// these the ones that race names under the race detector; then it prints the report. It
// returns an error if a test failed, a package did not build, or ctx ended. s.report.out must
// be set. If ctx ends while the tests run, the report of those that ended is printed.
func (s *suite) run(ctx context.Context, race, first, patterns []string) error {
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	all, err := s.list(ctx, patterns)
	if err != nil {
		return err
	}
	early, err := s.list(ctx, first)
	if err != nil {
		return err
	}
	raced, err := s.list(ctx, race)
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b string) int { // early ones first
		return index(early, a) - index(early, b)
	})
	var withRace, without []string
	for _, p := range all {
		if slices.Contains(raced, p) {
			withRace = append(withRace, p)
		} else {
			without = append(without, p)
		}
	}
	dir, err := os.MkdirTemp("", "gobench-suite-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	began := time.Now()
	if err := errors.Join(s.compile(ctx, false, without), s.compile(ctx, true, withRace)); err != nil {
		return err
	}
	if took := time.Since(began).Round(time.Second); took >= 10*time.Second {
		s.report.write(fmt.Sprintf("compiled in %v what the tests use\n", took))
	}
	errs := make([]error, 2)
	var wg sync.WaitGroup
	wg.Go(func() { errs[0] = s.test(ctx, dir, true, withRace) })
	wg.Go(func() { errs[1] = s.test(ctx, dir, false, without) })
	wg.Wait()
	s.report.usage(dir)
	s.report.print(s.most, time.Since(began))
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	if s.report.failed() {
		return fmt.Errorf("tests failed")
	}
	return nil
}

// index returns where s is in list, and its length if it is not there.
func index(list []string, s string) int {
	if i := slices.Index(list, s); i >= 0 {
		return i
	}
	return len(list)
}

// list returns the import paths of the packages that have tests. Unlike go list without
// patterns, it returns nothing if patterns is empty. The error has what go list printed.
func (s *suite) list(ctx context.Context, patterns []string) ([]string, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	args := []string{"list", "-tags", s.tags, "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"}
	out, err := exec.CommandContext(ctx, "go", append(args, patterns...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", strings.Join(patterns, " "), withStderr(err))
	}
	return strings.Fields(string(out)), nil
}

// compile compiles packages with their tests and all that they import, under the race detector
// or not, so that no test runs beside a compiler that takes all CPUs: with an empty cache it
// does for minutes. Only linking is left to go test. The error has what the go command printed.
func (s *suite) compile(ctx context.Context, race bool, packages []string) error {
	if len(packages) == 0 {
		return nil
	}
	args, cgo := mode(race)
	args = append([]string{"list", "-export", "-test", "-f", "{{.Export}}", "-tags", s.tags}, args...)
	cmd := exec.CommandContext(ctx, "go", append(args, packages...)...)
	cmd.Env = append(cmd.Environ(), cgo)
	if _, err := cmd.Output(); err != nil {
		return fmt.Errorf("compile the tests: %w", withStderr(err))
	}
	return nil
}

// mode returns the flags and the setting of the environment with which tests are built.
func mode(race bool) (args []string, cgo string) {
	if race {
		return []string{"-trimpath", "-race"}, "CGO_ENABLED=1"
	}
	return []string{"-trimpath"}, "CGO_ENABLED=0"
}

// withStderr returns err with what the command wrote to standard error.
func withStderr(err error) error {
	if exit, ok := err.(*exec.ExitError); ok {
		return fmt.Errorf("%w\n%s", err, exit.Stderr)
	}
	return err
}

// test runs go test for packages, until they end or ctx does, and adds its events to the
// report; their processes write what they used into dir. A test that fails is not an error: the
// report has it. It returns an error if ctx has ended, or if go test fails before any event.
func (s *suite) test(ctx context.Context, dir string, race bool, packages []string) error {
	if len(packages) == 0 {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	flags, cgo := mode(race)
	args := []string{"test", "-json", "-count=1", "-vet=off", "-tags", s.tags, "-timeout", s.timeout.String(),
		"-p", fmt.Sprint(s.parallel), "-exec", self}
	args = slices.Concat(args, flags, packages)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	cmd.Env = append(cmd.Environ(), cgo, usageFileEnv+"="+dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	events, readErr := s.report.read(out)
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted")
	case readErr != nil:
		return fmt.Errorf("read what go test prints: %w", readErr)
	case err != nil && events == 0: // it did not come to a test
		return fmt.Errorf("go test: %w\n%s", err, stderr.String())
	}
	return nil
}
