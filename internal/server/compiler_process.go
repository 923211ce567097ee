package server

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/agent/sandbox"
	"github.com/gobench-io/gobench/internal/build"
	"github.com/gobench-io/gobench/internal/process"
)

// compileEnv makes this program the compiler's process.
const compileEnv = "GOBENCH_COMPILE"

// compileOrder is what that process reads from standard input, as JSON, and compileReport a
// line that it writes to standard output.
type (
	compileOrder struct {
		Warm         bool   // compile only what all scenarios share
		Dir          string // of the cache
		Source       string // the folder with the scenario
		GOOS, GOARCH string
		Limit        time.Duration
	}
	compileReport struct {
		Step   string   `json:",omitempty"`
		Path   string   `json:",omitempty"`
		SHA256 string   `json:",omitempty"`
		Notes  []string `json:",omitempty"`
		Refuse string   `json:",omitempty"` // what is wrong with the source
		Input  bool     `json:",omitempty"` // Refuse is not a text of the Go compiler
		Error  string   `json:",omitempty"`
	}
)

// child runs the compiler's process in box, calls step with each step that it reports, and
// returns its last report, which has a Path, Refuse or Error. If ctx ends, it kills the
// process and returns the context's cause. Without a report the error has the process's
// standard error.
func (c *compiler) child(ctx context.Context, box *sandbox.Box, order []byte, step func(string)) (last compileReport, err error) {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return last, err
	}
	defer self.Close()
	env := []string{compileEnv + "=1", "PATH=" + os.Getenv("PATH")}
	for _, name := range []string{"GOROOT", "GOTOOLCHAIN", "GOPROXY", "GOSUMDB", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	if c.user == 0 {
		me := build.ThisPerson()
		env = append(env, "GOCACHE="+me.GoCache, "GOMODCACHE="+me.ModCache)
	}
	cmd, err := box.Command(self, box.Environ(env))
	if err != nil {
		return last, err
	}
	cmd.Stdin = strings.NewReader(string(order))
	var errout strings.Builder
	cmd.Stderr = &capped{&errout, 64 << 10}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return last, err
	}
	cmd.WaitDelay = time.Second
	err = process.OnOneThread(func() error {
		last, err = follow(ctx, cmd, out, step)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return last, context.Cause(ctx)
	case last.Path == "" && last.Refuse == "" && last.Error == "":
		return last, fmt.Errorf("the compiler's process ended without a report: %w: %s", cmp.Or(err, errors.New("exit status 0")), errout.String())
	}
	return last, nil
}

// follow starts cmd, calls step with each step that it reports to out, its standard output,
// and returns its last report and the error of its start or its end. The end of ctx kills it.
func follow(ctx context.Context, cmd *exec.Cmd, out io.Reader, step func(string)) (last compileReport, err error) {
	err = cmd.Start()
	for _, f := range cmd.ExtraFiles {
		f.Close()
	}
	if err != nil {
		return last, err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() }) // the box's end ends its children
	defer stop()
	lines := bufio.NewScanner(io.LimitReader(out, 8<<20))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r compileReport
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			continue
		}
		if r.Step != "" {
			step(r.Step)
			continue
		}
		last = r
	}
	return last, cmd.Wait()
}

// capped accepts all that is written and passes on its first bytes.
type capped struct {
	into *strings.Builder
	left int // bytes that are still passed on
}

// Write returns len(b) and nil, also for what it drops.
func (c *capped) Write(b []byte) (int, error) {
	n := min(len(b), c.left)
	c.left -= n
	c.into.Write(b[:n])
	return len(b), nil
}

// IsCompiler reports whether this process is the compiler's of a master: main must then
// return what RunCompiler does.
func IsCompiler() bool { return os.Getenv(compileEnv) != "" }

// RunCompiler is the compiler's process. It compiles one scenario against the sources in
// sdk, as standard input asks, writes compileReports to standard output, and returns the
// exit status: 0 also if the source is wrong or the build fails, which the last report says.
func RunCompiler(sdk fs.FS) int {
	out := json.NewEncoder(os.Stdout)
	report := func(r compileReport) { _ = out.Encode(r) } // if the master is gone, no one reads it
	var o compileOrder
	if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil {
		report(compileReport{Error: err.Error()})
		return 1
	}
	b, err := build.New(build.NewSDK(sdk), o.Dir, slog.New(slog.DiscardHandler))
	if err != nil {
		report(compileReport{Error: err.Error()})
		return 1
	}
	person := build.ThisPerson()
	person.GoCache, person.ModCache = os.Getenv("GOCACHE"), os.Getenv("GOMODCACHE")
	if o.Warm {
		if err := b.Warm(context.Background(), build.Options{Person: person}); err != nil {
			report(compileReport{Error: err.Error()})
			return 1
		}
		report(compileReport{Path: o.Dir})
		return 0
	}
	path, as := o.Source, "."
	if many, _ := filepath.Glob(filepath.Join(o.Source, "*.go")); len(many) == 1 {
		path, as = many[0], filepath.Base(many[0])
	}
	built, err := b.Build(context.Background(), build.Source{Path: path, As: as}, build.Options{
		GOOS: o.GOOS, GOARCH: o.GOARCH, Person: person, Limits: build.Limits{Time: o.Limit}, Progress: func(s string) { report(compileReport{Step: s}) }})
	var input *build.InputError
	var refused *build.CompileError
	switch {
	case errors.As(err, &input), errors.As(err, &refused):
		report(compileReport{Refuse: err.Error(), Input: input != nil})
	case err != nil:
		report(compileReport{Error: err.Error()})
	default:
		report(compileReport{Path: built.Path, SHA256: built.SHA256, Notes: built.Notes})
	}
	return 0
}
