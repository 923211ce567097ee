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
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Builder builds executors into a cache directory. It is safe for concurrent use, and
// several processes may use the same directory. It has nothing to close.
type Builder struct {
	dir    string
	sdks   string // directory in which SDKs are unpacked: dir, except in tests
	log    *slog.Logger
	load   func() (*sdkFiles, error)
	places func() []string // of go commands
}

// New returns a Builder whose cache is dir (see [DefaultDir]), which it creates if needed.
// It reads nothing of sdk before the first build. log must not be nil.
func New(sdk SDK, dir string, log *slog.Logger) (*Builder, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, fmt.Errorf("make the build cache: %w", err)
	}
	return &Builder{dir: abs, sdks: abs, log: log, load: sync.OnceValues(sdk.load), places: goPlaces}, nil
}

// Build returns the executor of a scenario, built or from the cache. It blocks for
// [Limits.Time] at most, also while another call builds the same scenario. It only reads
// src.
//
// The error is an [*InputError] for files that were refused before a go command ran, a
// [*CompileError] if the go command refused the scenario, a [*LimitError] if a limit ended
// the build; it describes what to install if Go is missing, and is ctx's cause if ctx ended
// first. The Executor is zero then.
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

// task is one build in progress.
type task struct {
	*project
	sdk     *sdkFiles
	tc      toolchain
	o       Options
	steps   *steps
	key     string // names the executor
	sdkDir  string
	program string // where go build writes the executor
}

type reader func(toolchain, *sdkFiles) (*project, error)

// build is Build for the project that read returns. It sets the defaults of o and the time
// limit.
func (b *Builder) build(ctx context.Context, o Options, read reader) (Executor, error) {
	start := time.Now()
	o = o.withDefaults()
	t := &task{o: o, steps: &steps{tell: o.Progress}}
	ctx, cancel := context.WithTimeoutCause(ctx, o.Limits.Time, errTime)
	defer cancel()
	e, err := b.get(ctx, t, read)
	if errors.Is(err, errTime) {
		err = &LimitError{Resource: "time", Limit: o.Limits.Time.String()}
	}
	var limit *LimitError
	if errors.As(err, &limit) {
		limit.Step = t.steps.last()
	}
	if err != nil {
		return Executor{}, err
	}
	e.Notes = slices.Concat(t.notes, e.Notes)
	e.Took = time.Since(start)
	return e, nil
}

// errTime is the cause of a context that exceeded [Limits.Time].
var errTime = errors.New("build took too long")

// get returns the executor from the store, or builds it and stores it there. t must have o and
// steps; get sets the other fields. A build also removes the least recently used executors if
// the store is too big, and old leftovers of other builds. Its errors are those of Build, but
// errTime at the time limit.
func (b *Builder) get(ctx context.Context, t *task, read reader) (e Executor, err error) {
	if t.sdk, err = b.load(); err != nil {
		return Executor{}, err
	}
	if t.tc, err = b.findGo(ctx, t.sdk.mod.Go.Version); err != nil {
		return Executor{}, err
	}
	if t.project, err = read(t.tc, t.sdk); err != nil {
		return Executor{}, err
	}
	t.sdkDir = b.sdkPlace(t.sdk)
	if err := t.complete(t.sdk, t.sdkDir); err != nil {
		return Executor{}, err
	}
	t.setKey()
	if e, ok := b.lookUp(t.key); ok {
		return e, nil
	}
	// Concurrent builds of the same scenario compile it once.
	unlock, err := b.lock(ctx, "build-"+t.key[:2])
	if err != nil {
		return Executor{}, err
	}
	defer unlock()
	if e, ok := b.lookUp(t.key); ok {
		return e, nil
	}
	if err := b.prepareSDK(ctx, t.sdk, t.steps.begin); err != nil {
		return Executor{}, err
	}
	if e, err = b.compile(ctx, t); err != nil {
		return Executor{}, err
	}
	b.prune(storeSize, storeHold)
	b.tidyTemp()
	b.tidyResolved()
	return e, nil
}

// complete adds go.mod and go.sum to the copy, and the notes of completeMod. Dependencies are
// replaced by their sources below sdkDir. The project must have been read; call it once.
func (p *project) complete(sdk *sdkFiles, sdkDir string) error {
	mod, notes, err := completeMod(p.mod, sdk.mod, p.vendored, sdkDir, p.shown("go.mod"))
	if err != nil {
		return fmt.Errorf("complete go.mod: %w", err)
	}
	p.notes = append(p.notes, notes...)
	p.files["go.mod"], p.files["go.sum"] = mod, p.sum
	return nil
}

// setKey sets the executor's key: a hash, in hex, of all inputs of go build. The copy must
// be complete.
func (t *task) setKey() {
	h := sha256.New()
	for _, part := range slices.Concat([]string{t.sdk.id, t.tc.Version, t.o.GOOS, t.o.GOARCH, t.dir}, buildArgs, t.targets()) {
		hashPart(h, part, nil)
	}
	for _, name := range slices.Sorted(maps.Keys(t.files)) {
		hashPart(h, name, t.files[name])
	}
	t.key = hex.EncodeToString(h.Sum(nil))
}

// mend mends the imports of all files of the user that can be parsed, in the copy, and adds
// notes on what it changed. Vendored packages stay as they are.
func (p *project) mend(known *names) {
	for _, pkg := range p.packages {
		if pkg.vendored {
			continue
		}
		names := map[string]bool{}
		for _, f := range pkg.files {
			maps.Copy(names, declared(f.ast))
		}
		for _, f := range pkg.files {
			if f.err != nil {
				continue // the compiler reports what is wrong with it
			}
			m := mend(f, p.files[f.name], names, known)
			p.files[f.name] = m.text
			for _, n := range m.notes {
				p.notes = append(p.notes, fmt.Sprintf("%s:%d: %s", p.shown(f.name), n.line, n.text))
			}
		}
	}
}
