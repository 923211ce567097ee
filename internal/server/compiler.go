package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
		err = openFolder(filepath.Dir(c.dir))
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

// openFolder creates dir, and the folders above it that do not exist, for all users to enter,
// whatever this process's umask is. An existing folder stays as it is.
func openFolder(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := openFolder(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Chmod(dir, 0o755)
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
