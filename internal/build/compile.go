package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// compile runs go build on the copy, which it writes to a temporary directory, and stores the
// program. t must have its key, sdkDir and tc, and the SDK must be unpacked. It also stores
// the versions that the go command chose. The error is that of goBuild, or of a file.
func (b *Builder) compile(ctx context.Context, t *task) (Executor, error) {
	tmp, err := b.temp("build-")
	if err != nil {
		return Executor{}, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	t.program = filepath.Join(tmp, programName)
	root := filepath.Join(tmp, "src")
	resolved := b.resolvedFor(t.project)
	resolved.use(t.project)
	if err := t.write(root); err != nil {
		return Executor{}, err
	}
	first := b.mark("compiled", t.sdk, t.tc, t.o)
	if first.set() {
		t.steps.begin("compile")
	} else {
		t.steps.begin("compile (first time: fills the build cache, about 30 s)")
	}
	if err := b.goBuild(ctx, t, root, filepath.Join(tmp, "work")); err != nil {
		resolved.failed(err)
		return Executor{}, err
	}
	notes, err := t.chosen(root)
	if err = errors.Join(err, resolved.save(root), first.make()); err != nil {
		return Executor{}, err
	}
	return b.keep(t.key, t.program, notes)
}

// goBuild runs go build on the copy at root, and again for each module of the archive that
// turns out to be needed as a whole. work is for go's temporary files. The program is at
// t.program then. The error is a *CompileError, a *LimitError or ctx's cause, or says why
// go could not be run.
func (b *Builder) goBuild(ctx context.Context, t *task, root, work string) error {
	if err := os.MkdirAll(work, 0o700); err != nil {
		return err
	}
	env, err := b.goEnv(t.tc, t.o, work)
	if err != nil {
		return err
	}
	j := job{path: t.tc.Go, dir: filepath.Join(root, filepath.FromSlash(t.dir)), env: env, limits: t.o.Limits, idle: t.o.idle}
	args := []string{"-p", cpus(t.o), "-o", t.program}
	if t.o.Package != nil {
		args = append(args, "-v")
	}
	j.args = slices.Concat(buildArgs, args, t.targets())
	for {
		j.out = &output{limit: t.o.Limits.Text, progress: t.steps.begin, compiles: t.o.Package}
		err := j.run(ctx)
		if err == nil {
			break
		}
		text := j.out.result()
		if whole := t.wantsWhole(text, t.o); whole != "" && t.unreplace(whole, root) == nil {
			t.steps.begin("fetch all of " + whole)
			continue
		}
		modules := []string{b.modCache(t.o), filepath.Join(t.sdkDir, "third_party"), t.sdkDir}
		return t.explain(err, text, root, modules, t.o)
	}
	info, err := os.Stat(t.program)
	if err != nil {
		return fmt.Errorf("find the built executor: %w", err)
	}
	if info.Size() > t.o.Limits.Output {
		return sizeLimit("output", t.o.Limits.Output)
	}
	return nil
}

// targets returns go build's package arguments: a package's directory, or the files of one
// that consists of the scenario's file alone. The dot prevents a name from being parsed as
// a flag.
func (p *project) targets() []string {
	if p.only == "" {
		return []string{"."}
	}
	return []string{"./" + p.only, "./" + mainFile}
}

// write writes the copy below root. On an error a part of it is left.
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

// steps reports the current step to the caller and remembers it for a message.
type steps struct {
	tell func(string)
	mu   sync.Mutex
	now  string
}

// begin sets the current step and reports it to the caller. It may be called concurrently.
func (s *steps) begin(step string) {
	s.mu.Lock()
	s.now = step
	s.mu.Unlock()
	s.tell(step)
}

// last returns the current step, without the part in parentheses; "" before the first.
func (s *steps) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	step, _, _ := strings.Cut(s.now, " (")
	return step
}
