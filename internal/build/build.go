// Package build turns a tester's scenario into an executor: a program of the
// scenario, the gobench packages it imports and one generated call.
//
// A [Builder] copies what it reads of the tester's (the scenario, packages of the
// same module, embedded files, go.mod, go.sum) into a directory of its own, mends
// imports there, adds the main function and the SDK's requirements, and runs go
// build on the copy. The tester's directory is only read. The SDK and the sources
// of its dependencies come out of this gobench, so a scenario that imports nothing
// else is built without a network.
//
// Executors are kept by the hash of everything that go build is given: a scenario
// built before costs milliseconds and runs no command.
//
// Compiling another's scenario is running another's code on the compiler's inputs:
// go.mod is parsed and judged before any go command sees it, the go command gets a
// clean environment, no shell, no C compiler, no proxy unless a [Person] lends one,
// and limits on time, memory and output.
package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Builder builds executors into a cache directory. Any number of goroutines may use
// it at once, and any number of processes the same directory.
type Builder struct {
	dir    string
	log    *slog.Logger
	load   func() (*sdkFiles, error)
	places func() []string // of go commands
}

// New gives a Builder that keeps what it makes in dir (see [DefaultDir]).
func New(sdk SDK, dir string, log *slog.Logger) (*Builder, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, fmt.Errorf("make the build cache: %w", err)
	}
	return &Builder{dir: abs, log: log, load: sync.OnceValues(sdk.load), places: goPlaces}, nil
}

// Build gives the executor of a scenario, built or from the cache.
//
// The error is an [*InputError] for files that no go command was shown, a
// [*CompileError] for what the go command refused, a [*LimitError] for a build that
// was ended, wraps [ErrNoToolchain] where Go is missing, and is ctx's cause when ctx
// ended first.
func (b *Builder) Build(ctx context.Context, src Source, o Options) (Executor, error) {
	return b.build(ctx, o, func(tc toolchain, sdk *sdkFiles) (*project, error) {
		p, err := readProject(src, tc)
		if err != nil {
			return nil, err
		}
		p.mend(newNames(tc, sdk, p))
		return p, p.addMain()
	})
}

func (b *Builder) build(ctx context.Context, o Options, read func(toolchain, *sdkFiles) (*project, error)) (Executor, error) {
	start := time.Now()
	o = o.withDefaults()
	s := &steps{tell: o.Progress}
	ctx, cancel := context.WithTimeoutCause(ctx, o.Limits.Time, errTime)
	defer cancel()
	e, err := b.buildSteps(ctx, o, s, read)
	if errors.Is(err, errTime) {
		err = timeLimit(o.Limits.Time, s.last())
	}
	if err != nil {
		return Executor{}, err
	}
	e.Took = time.Since(start)
	return e, nil
}

// errTime is the cause of a context that ran into [Limits.Time].
var errTime = errors.New("build took too long")

func (b *Builder) buildSteps(ctx context.Context, o Options, s *steps, read func(toolchain, *sdkFiles) (*project, error)) (Executor, error) {
	sdk, err := b.load()
	if err != nil {
		return Executor{}, err
	}
	tc, err := b.findGo(ctx, sdk.mod.Go.Version)
	if err != nil {
		return Executor{}, err
	}
	p, err := read(tc, sdk)
	if err != nil {
		return Executor{}, err
	}
	if err := p.complete(sdk, filepath.Join(b.dir, sdkPrefix+sdk.id)); err != nil {
		return Executor{}, err
	}
	key := p.key(sdk, tc, o)
	if e, ok := b.lookUp(key); ok {
		return p.annotate(e), nil
	}
	// The same scenario twice at once is compiled once.
	unlock, err := b.lock(ctx, "build-"+key[:2])
	if err != nil {
		return Executor{}, err
	}
	defer unlock()
	if e, ok := b.lookUp(key); ok {
		return p.annotate(e), nil
	}
	if _, err := b.sdkDir(ctx, sdk, s.begin); err != nil {
		return Executor{}, err
	}
	e, err := b.compile(ctx, p, key, tc, sdk, o, s)
	if err != nil {
		return Executor{}, err
	}
	b.prune(storeSize, storeHold)
	b.tidyTemp()
	b.tidyResolved()
	return p.annotate(e), nil
}

// complete adds go.mod and go.sum to the copy.
func (p *project) complete(sdk *sdkFiles, sdkDir string) error {
	mod, notes, err := completeMod(p.mod, sdk.mod, sdkDir, p.shown("go.mod"))
	if err != nil {
		return fmt.Errorf("complete go.mod: %w", err)
	}
	p.notes = append(p.notes, notes...)
	p.files["go.mod"], p.files["go.sum"] = mod, p.sum
	return nil
}

// key names the executor by all that go build is given.
func (p *project) key(sdk *sdkFiles, tc toolchain, o Options) string {
	h := sha256.New()
	for _, part := range append([]string{sdk.id, tc.Version, o.GOOS, o.GOARCH, p.dir}, buildArgs...) {
		hashPart(h, part, nil)
	}
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		hashPart(h, name, p.files[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (p *project) annotate(e Executor) Executor {
	e.Notes = slices.Concat(p.notes, e.Notes)
	return e
}

// mend mends the imports of all the tester's files that parse.
func (p *project) mend(known *names) {
	for _, pkg := range p.packages {
		names := map[string]bool{}
		for _, f := range pkg.files {
			maps.Copy(names, declared(f.ast))
		}
		for _, f := range pkg.files {
			if f.err != nil {
				continue // the compiler says what is wrong with it
			}
			m := mend(f, p.files[f.name], names, known)
			p.files[f.name] = m.text
			for _, n := range m.notes {
				p.notes = append(p.notes, fmt.Sprintf("%s:%d: %s", p.shown(f.name), n.line, n.text))
			}
		}
	}
}

// compile runs go build on the copy and keeps the program.
func (b *Builder) compile(ctx context.Context, p *project, key string, tc toolchain, sdk *sdkFiles, o Options, s *steps) (Executor, error) {
	tmp, err := b.temp("build-")
	if err != nil {
		return Executor{}, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	root, work, program := filepath.Join(tmp, "src"), filepath.Join(tmp, "work"), filepath.Join(tmp, programName)
	resolved := b.resolvedFor(p)
	resolved.use(p)
	if err := p.write(root); err != nil {
		return Executor{}, err
	}
	if err := os.MkdirAll(work, 0o700); err != nil {
		return Executor{}, err
	}
	env, err := b.goEnv(tc, o, work)
	if err != nil {
		return Executor{}, err
	}
	first := b.mark("compiled", sdk, tc, o)
	if first.set() {
		s.begin("compile")
	} else {
		s.begin("compile (first time: fills the build cache, about 30 s)")
	}
	out := &output{limit: o.Limits.Text, progress: s.begin}
	j := job{path: tc.Go, dir: filepath.Join(root, filepath.FromSlash(p.dir)), env: env, out: out, limits: o.Limits, idle: o.idle}
	j.args = append(slices.Clone(buildArgs), "-p", cpus(o), "-o", program, ".")
	if err := j.run(ctx); err != nil {
		err = p.explain(err, out, root, o)
		resolved.failed(err)
		return Executor{}, err
	}
	if info, err := os.Stat(program); err != nil {
		return Executor{}, fmt.Errorf("find the built executor: %w", err)
	} else if info.Size() > o.Limits.Output {
		return Executor{}, sizeLimit("output", o.Limits.Output)
	}
	_, notes := out.result()
	if err := errors.Join(resolved.save(root), first.make()); err != nil {
		return Executor{}, err
	}
	return b.keep(key, program, notes)
}

// write lays the copy out below root.
func (p *project) write(root string) error {
	for name, data := range p.files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// explain turns the end of a go command into the error that the tester sees.
func (p *project) explain(err error, out *output, root string, o Options) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err // ended, or never begun
	}
	text, _ := out.result()
	if limit := limitHit(text, o.Limits); limit != nil {
		return limit
	}
	text = rename(text, root, p.dir, p.display, func(name string) bool {
		_, ok := p.files[name]
		return ok
	})
	if text == "" {
		text = "go build ended without a word: " + exit.String()
	}
	return &CompileError{Text: text, Hint: p.hint(text, o)}
}

func (p *project) hint(text string, o Options) string {
	switch {
	case o.offline() && strings.Contains(text, "GOPROXY=off"):
		return "this build fetches no modules: use packages of Go, gobench and the scenario's own module, or set a GOPROXY"
	case p.siblings && strings.Contains(text, ": undefined: "):
		return fmt.Sprintf("only %s was compiled; to take every file of its directory, name the directory", path.Base(p.packages[0].files[0].name))
	}
	return ""
}

// steps tells the caller what happens next and remembers it for a message.
type steps struct {
	tell func(string)
	mu   sync.Mutex
	now  string
}

func (s *steps) begin(step string) {
	s.mu.Lock()
	s.now = step
	s.mu.Unlock()
	s.tell(step)
}

func (s *steps) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}
