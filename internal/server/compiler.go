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
	"path/filepath"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/agent/sandbox"
	"github.com/gobench-io/gobench/internal/build"
	"github.com/gobench-io/gobench/internal/master"
	"github.com/gobench-io/gobench/internal/run"
)

// compiler compiles scenarios for a master: in a separate process and, if this one is root,
// as a user without privileges who can't read the master's data. Compile and warm may be
// called concurrently; one of them works at a time, the others wait. The first Compile ends
// warm, which would compete with it for the CPUs.
type compiler struct {
	dir   string // the cache, and below it what is compiled
	limit time.Duration
	user  int    // 0: this process's
	notes string // the file that names the box in use
	log   *slog.Logger

	turn     chan struct{}   // holds one element while something is compiled
	warming  context.Context // of warm
	stopWarm func()          // ends warming
}

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

// newCompiler returns the compiler of a master whose data is in own and whose cache is in
// dir (empty: the default). If it runs as this user, it shares the cache of local runs. It
// creates the cache's folder, and deletes what a previous process of that master was
// compiling. limit is that of one build. The end of ctx ends warm. An error is an *[Error].
// There is nothing to close.
func newCompiler(ctx context.Context, dir, own string, limit time.Duration, log *slog.Logger) (*compiler, error) {
	c := &compiler{dir: dir, limit: limit, notes: filepath.Join(own, "compiling.json"), log: log, turn: make(chan struct{}, 1)}
	c.warming, c.stopWarm = context.WithCancel(ctx)
	c.reap()
	level, err := sandbox.Level(sandbox.Options{Note: c.note})
	if err != nil {
		return nil, &Error{PartCompiler, fmt.Errorf("try how scenarios are compiled here: %w", err)}
	}
	c.forget()
	if level > 0 {
		c.user = sandbox.CompilerUser
	}
	switch {
	case c.dir == "" && c.user == 0:
		c.dir, err = build.DefaultDir()
	case c.dir == "": // not below the master's folder, which that user must not enter
		c.dir = "/var/cache/gobench/build"
	}
	if err == nil {
		c.dir, err = filepath.Abs(c.dir)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(c.dir), 0o755)
	}
	if err == nil {
		if err = os.Mkdir(c.dir, 0o700); errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	if err == nil && c.user != 0 {
		err = os.Chown(c.dir, c.user, c.user)
	}
	if err != nil {
		return nil, &Error{PartCache, fmt.Errorf("make the compiler's folder: %w", err)}
	}
	return c, nil
}

// Compile compiles a source for a platform, calls step before each step that takes time, and
// returns the executor in the cache. It ends warm, and waits for another Compile. If the
// source is wrong, the error is a *[master.CompileError]; after the end of ctx it wraps the
// context's cause.
func (c *compiler) Compile(ctx context.Context, source run.Source, goos, goarch string, step func(string)) (master.Built, error) {
	c.stopWarm()
	if err := c.begin(ctx); err != nil {
		return master.Built{}, err
	}
	defer c.end()
	box, err := c.box(ctx)
	if err != nil {
		return master.Built{}, fmt.Errorf("make a folder to compile in: %w", err)
	}
	defer c.leave(box)
	folder := filepath.Join(box.Home(), "scenario")
	if err := write(box, folder, source); err != nil {
		return master.Built{}, fmt.Errorf("write the scenario: %w", err)
	}
	order, err := json.Marshal(compileOrder{Dir: c.dir, Source: folder, GOOS: goos, GOARCH: goarch, Limit: c.limit})
	if err != nil {
		return master.Built{}, err
	}
	r, err := c.child(ctx, box, order, step)
	switch {
	case err != nil:
		return master.Built{}, err
	case r.Refuse != "":
		return master.Built{}, &master.CompileError{Text: r.Refuse, Input: r.Input}
	case r.Error != "":
		return master.Built{}, errors.New(r.Error)
	}
	if !strings.HasPrefix(filepath.Clean(r.Path), c.dir+string(filepath.Separator)) {
		return master.Built{}, fmt.Errorf("the compiler put its executor at %s", r.Path)
	}
	return master.Built{Path: r.Path, SHA256: r.SHA256, Notes: r.Notes}, nil
}

// begin waits until nothing else is compiled; the caller must call end. If ctx ends first, it
// returns the context's cause.
func (c *compiler) begin(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if ctx.Err() != nil { // select does not prefer a case
		c.end()
		return context.Cause(ctx)
	}
	return nil
}

func (c *compiler) end() { <-c.turn }

// box creates the sandbox to compile in. If another master of this machine uses it, box
// waits until that has left, and returns the context's cause if ctx ends first. The caller
// must close it by leave.
func (c *compiler) box(ctx context.Context) (*sandbox.Box, error) {
	for {
		box, err := sandbox.New(sandbox.Options{User: c.user, Same: c.user == 0, Note: c.note})
		if !errors.Is(err, sandbox.ErrTaken) {
			return box, err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// note stores what the next process of this master needs to clear up after a crash. If it
// can't be written, that is logged and scenarios are compiled all the same: the error is
// always nil.
func (c *compiler) note(box sandbox.State) error {
	b, err := json.Marshal(box)
	if err == nil {
		err = os.WriteFile(c.notes, b, 0o600)
	}
	if err != nil {
		c.log.Warn("store where scenarios are compiled", "error", err)
	}
	return nil
}

// forget deletes what note has stored. An error is logged.
func (c *compiler) forget() {
	if err := os.Remove(c.notes); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.log.Warn("forget where scenarios were compiled", "error", err)
	}
}

// leave closes a box, which deletes it and ends its processes, and forgets its note. If that
// fails, it logs the error and the note stays for the next process.
func (c *compiler) leave(box *sandbox.Box) {
	if err := box.Close(); err != nil {
		c.log.Error("clear up after the compiler", "error", err)
		return
	}
	c.forget()
}

// reap closes the box that a previous process of this master left when it was killed. Call it
// before this process writes a note. Without a note, or with an incomplete one, it does
// nothing.
func (c *compiler) reap() {
	var left sandbox.State
	b, err := os.ReadFile(c.notes)
	if err != nil || json.Unmarshal(b, &left) != nil || left.Folder == "" {
		return // nothing is left, or the note was not written completely
	}
	c.log.Warn("deleting what the previous process of this master was compiling", "folder", left.Folder)
	c.leave(sandbox.Open(left))
}

// warm compiles what all scenarios import, so that the first one need not wait for it. It
// returns after that, or when the context of newCompiler or the first Compile, which may come
// before warm, ends it. Errors are logged.
func (c *compiler) warm() {
	if c.begin(c.warming) != nil {
		return
	}
	defer c.end()
	box, err := c.box(c.warming)
	if err != nil {
		return // the first run reports it
	}
	defer c.leave(box)
	order, err := json.Marshal(compileOrder{Warm: true, Dir: c.dir})
	if err != nil {
		return
	}
	if r, err := c.child(c.warming, box, order, func(string) {}); c.warming.Err() == nil && (err != nil || r.Error != "") {
		c.log.Info("the compiler could not be warmed", "error", err, "text", r.Error)
	}
}

// child runs the compiler's process in box, calls step with each step that it reports, and
// returns its last report, which has a Path, Refuse or Error. Other lines of the process are
// ignored. If ctx ends, it kills the process and returns the context's cause. Without a report
// the error has the process's standard error.
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
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return last, context.Cause(ctx)
	case last.Path == "" && last.Refuse == "" && last.Error == "":
		return last, fmt.Errorf("the compiler's process ended without a report: %w: %s", cmp.Or(err, errors.New("exit status 0")), errout.String())
	}
	return last, nil
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

// write writes a source's files into folder, which it creates in the box, readable by the
// box's user. A path that leads out of folder is an error. After an error, files written
// before stay.
func write(box *sandbox.Box, folder string, source run.Source) error {
	files := append([]run.File{{Path: source.FileName(), Data: []byte(source.Scenario)}}, source.Files...)
	if source.GoMod != "" {
		files = append(files, run.File{Path: "go.mod", Data: []byte(source.GoMod)})
	}
	if source.GoSum != "" {
		files = append(files, run.File{Path: "go.sum", Data: []byte(source.GoSum)})
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range files {
		if dir := filepath.Dir(f.Path); dir != "." {
			if err := root.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		if err := root.WriteFile(f.Path, f.Data, 0o644); err != nil {
			return err
		}
	}
	return box.Chown(folder)
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
