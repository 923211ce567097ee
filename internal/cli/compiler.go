package cli

import (
	"bufio"
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
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/agent/sandbox"
	"github.com/gobench-io/gobench/internal/build"
	"github.com/gobench-io/gobench/internal/master"
	"github.com/gobench-io/gobench/internal/run"
)

// compiler compiles for a master: in a process of its own, and where this one is root, as
// a user without privileges who can't see the master's data.
type compiler struct {
	dir   string // the cache, and below it what is compiled
	limit time.Duration
	user  int    // 0: this process's
	notes string // the file that says which box is in use
	log   *slog.Logger

	turn sync.Mutex // held while something is compiled

	mu   sync.Mutex
	cool func() // ends the warming
}

// compileEnv makes this program the compiler's process.
const compileEnv = "GOBENCH_COMPILE"

// compileOrder is what that process is told on standard input, and compileNews a line of
// what it says on standard output.
type (
	compileOrder struct {
		Warm         bool   // nothing is compiled but what all scenarios share
		Dir          string // of the cache
		Source       string // the folder with the scenario
		GOOS, GOARCH string
		Limit        time.Duration
	}
	compileNews struct {
		Step   string   `json:",omitempty"`
		Path   string   `json:",omitempty"`
		SHA256 string   `json:",omitempty"`
		Notes  []string `json:",omitempty"`
		Refuse string   `json:",omitempty"` // what is wrong with the source
		Input  bool     `json:",omitempty"` // that is no text of the compiler
		Error  string   `json:",omitempty"`
	}
)

// newCompiler makes the compiler of a master that has its data in own, and whose cache is
// in dir (empty: where it usually is). Where it runs as this user, it shares the cache of
// local runs. What an earlier life of that master was compiling is cleared up.
func newCompiler(dir, own string, limit time.Duration, log *slog.Logger) (*compiler, error) {
	c := &compiler{dir: dir, limit: limit, notes: filepath.Join(own, "compiling.json"), log: log}
	c.reap()
	level, err := sandbox.Level(sandbox.Options{Note: c.note})
	if err != nil {
		return nil, &exitError{exitFailed, fmt.Errorf("try how scenarios are compiled here: %w", err), tempStorage.hint(err)}
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
		return nil, &exitError{exitFailed, fmt.Errorf("make the compiler's folder: %w", err), "--cache FOLDER names another one"}
	}
	return c, nil
}

// Compile builds a source for a platform.
func (c *compiler) Compile(ctx context.Context, source run.Source, goos, goarch string, step func(string)) (master.Built, error) {
	c.mu.Lock()
	if c.cool != nil { // it would only compile beside us
		c.cool()
	}
	c.mu.Unlock()
	c.turn.Lock()
	defer c.turn.Unlock()
	box, err := c.box(ctx)
	if err != nil {
		return master.Built{}, fmt.Errorf("make room to compile in: %w", err)
	}
	defer c.leave(box)
	folder := filepath.Join(box.Home(), "scenario")
	if err := lay(box, folder, source); err != nil {
		return master.Built{}, fmt.Errorf("lay the scenario out: %w", err)
	}
	order, err := json.Marshal(compileOrder{Dir: c.dir, Source: folder, GOOS: goos, GOARCH: goarch, Limit: c.limit})
	if err != nil {
		return master.Built{}, err
	}
	news, err := c.child(ctx, box, order, step)
	switch {
	case err != nil:
		return master.Built{}, err
	case news.Refuse != "":
		return master.Built{}, &master.CompileError{Text: news.Refuse, Input: news.Input}
	case news.Error != "":
		return master.Built{}, errors.New(news.Error)
	}
	if !strings.HasPrefix(filepath.Clean(news.Path), c.dir+string(filepath.Separator)) {
		return master.Built{}, fmt.Errorf("the compiler put its executor at %s", news.Path)
	}
	return master.Built{Path: news.Path, SHA256: news.SHA256, Notes: news.Notes}, nil
}

// box makes the room to compile in. Another master of this machine may be in there: it is
// waited for.
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

// note keeps what the next life of this master needs to know of a box. Where the disk takes
// nothing it compiles all the same.
func (c *compiler) note(box sandbox.State) error {
	b, err := json.Marshal(box)
	if err == nil {
		err = os.WriteFile(c.notes, b, 0o600)
	}
	if err != nil {
		c.log.Warn("note where scenarios are compiled", "error", err)
	}
	return nil
}

func (c *compiler) forget() {
	if err := os.Remove(c.notes); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.log.Warn("forget where scenarios were compiled", "error", err)
	}
}

// leave clears a box up.
func (c *compiler) leave(box *sandbox.Box) {
	if err := box.Close(); err != nil {
		c.log.Error("clear up after the compiler", "error", err)
		return
	}
	c.forget()
}

// reap clears up the box that an earlier life of this master was killed in.
func (c *compiler) reap() {
	var left sandbox.State
	b, err := os.ReadFile(c.notes)
	if err != nil || json.Unmarshal(b, &left) != nil || left.Folder == "" {
		return // nothing is left, or half a note, of nothing
	}
	c.log.Warn("an earlier life of this master was compiling", "folder", left.Folder)
	c.leave(sandbox.Open(left))
}

// warm compiles what all scenarios share, so that the first one need not wait for it.
func (c *compiler) warm(ctx context.Context) {
	if os.Getenv(noWarmEnv) != "" {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.turn.Lock()
	defer c.turn.Unlock()
	c.mu.Lock()
	c.cool = cancel
	c.mu.Unlock()
	box, err := c.box(ctx)
	if err != nil {
		return // the first run says so
	}
	defer c.leave(box)
	order, err := json.Marshal(compileOrder{Warm: true, Dir: c.dir})
	if err != nil {
		return
	}
	if news, err := c.child(ctx, box, order, func(string) {}); ctx.Err() == nil && (err != nil || news.Error != "") {
		c.log.Info("the compiler could not be warmed", "error", err, "text", news.Error)
	}
}

// child runs the compiler's process until it has said its last word.
func (c *compiler) child(ctx context.Context, box *sandbox.Box, order []byte, step func(string)) (last compileNews, err error) {
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
	var said strings.Builder
	cmd.Stderr = &capped{&said, 64 << 10}
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
		var news compileNews
		if json.Unmarshal(lines.Bytes(), &news) != nil {
			continue
		}
		if news.Step != "" {
			step(news.Step)
			continue
		}
		last = news
	}
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return last, context.Cause(ctx)
	case last.Path == "" && last.Refuse == "" && last.Error == "":
		return last, fmt.Errorf("the compiler's process ended without a word: %w: %s", orNil(err), said.String())
	}
	return last, nil
}

func orNil(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// capped takes all that is written and keeps so much.
type capped struct {
	into *strings.Builder
	rest int
}

func (c *capped) Write(b []byte) (int, error) {
	n := min(len(b), c.rest)
	c.rest -= n
	c.into.Write(b[:n])
	return len(b), nil
}

// lay puts a source into a folder of the box, which its user may read.
func lay(box *sandbox.Box, folder string, source run.Source) error {
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
	return box.Give(folder)
}

// compileChild is the compiler's process.
func compileChild(sdk fs.FS) int {
	out := json.NewEncoder(os.Stdout)
	say := func(n compileNews) { _ = out.Encode(n) } // nobody listens: nobody waits
	var o compileOrder
	if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil {
		say(compileNews{Error: err.Error()})
		return exitFailed
	}
	b, err := build.New(build.NewSDK(sdk), o.Dir, slog.New(slog.DiscardHandler))
	if err != nil {
		say(compileNews{Error: err.Error()})
		return exitFailed
	}
	person := build.ThisPerson()
	person.GoCache, person.ModCache = os.Getenv("GOCACHE"), os.Getenv("GOMODCACHE")
	if o.Warm {
		if err := b.Warm(context.Background(), build.Options{Person: person}); err != nil {
			say(compileNews{Error: err.Error()})
			return exitFailed
		}
		say(compileNews{Path: o.Dir})
		return exitOK
	}
	path, as := o.Source, "."
	if many, _ := filepath.Glob(filepath.Join(o.Source, "*.go")); len(many) == 1 {
		path, as = many[0], filepath.Base(many[0])
	}
	built, err := b.Build(context.Background(), build.Source{Path: path, As: as}, build.Options{
		GOOS: o.GOOS, GOARCH: o.GOARCH, Person: person, Limits: build.Limits{Time: o.Limit}, Progress: func(s string) { say(compileNews{Step: s}) }})
	var input *build.InputError
	var refused *build.CompileError
	switch {
	case errors.As(err, &input), errors.As(err, &refused):
		say(compileNews{Refuse: err.Error(), Input: input != nil})
	case err != nil:
		say(compileNews{Error: err.Error()})
	default:
		say(compileNews{Path: built.Path, SHA256: built.SHA256, Notes: built.Notes})
	}
	return exitOK
}
