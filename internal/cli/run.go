package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/executor/data"
	"github.com/gobench-io/gobench/internal/build"
	"github.com/gobench-io/gobench/internal/local"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// runCommand returns gobench run: of a scenario on this machine (runScenario), or with
// --master on agents (runAt). Its help compiles the scenario to list its parameters.
func (a *app) runCommand() *cobra.Command {
	var load loadFlags
	var set []string
	var at clusterFlags
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Compile a scenario and run it, on this machine or on a master's agents",
		Long: `Compile a scenario and run it on this machine, or with --master on the agents of a
master: the view, the report and the exit status are the same.

FILE is a Go file with a function export() scenario.Vus, or a folder of such a
package. A go.mod and go.sum beside it are used and never written.
gobench run FILE --help lists the parameters that the scenario declares.

The first Ctrl-C stops the run: nothing new begins, what is in flight ends, and the
report is shown. A second one cancels it.`,
		Example: `  gobench run scenario.go
  gobench run scenario.go --duration 30s -o result.json
  gobench run scenario.go --set url=http://localhost:9090 --set users=50
  gobench run scenario.go --threshold 'page.http_fail rate < 1% over 10s abort'
  gobench run ./scenarios/checkout --seed 7 --quiet
  gobench run scenario.go --master http://127.0.0.1:8080 --on-lost rebalance`,
		Args: exactArgs(1, "the scenario's file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := load.check(cmd); err != nil {
				return err
			}
			values, err := parseSet(set)
			if err != nil {
				return err
			}
			if at.master.url != "" {
				return a.runAt(cmd.Context(), at.master, args[0], values, load, at.options())
			}
			if err := at.refuseLocal(cmd); err != nil {
				return err
			}
			return a.runScenario(cmd.Context(), args[0], values, load)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"go"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	timeVar(cmd.Flags(), &load.duration, "duration", "d", 0, "end the run after this time, and keep it open until then (default: the scenario decides)")
	cmd.Flags().StringArrayVar(&set, "set", nil, "set a parameter of the scenario, as NAME=VALUE; may be repeated")
	load.add(cmd, partOfLoad)
	at.master.add(cmd, "`URL` of a master whose agents run it")
	at.add(cmd)
	help := cmd.HelpFunc()
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		help(cmd, args)
		a.helpParams(cmd.Context(), cmd.Flags().Args())
	})
	return cmd
}

// runScenario compiles the scenario at path and runs it with these parameters on this
// machine; see localRun.run for the error.
func (a *app) runScenario(ctx context.Context, path string, set map[string]string, load loadFlags) error {
	full, err := filepath.Abs(path)
	if err != nil {
		full = path
	}
	l := a.newLocalRun(load, local.Options{Name: filepath.Base(full), Config: run.Config{Scenario: full},
		Parameters: set, Hold: true, Env: append(load.allowed.env(), data.DirEnv+"="+scenarioDir(full))})
	l.options.Prepare = func(ctx context.Context) (local.Program, error) {
		built, err := a.compile(ctx, path, l.emit, l.log)
		return local.Program{Path: built.Path, SHA256: built.SHA256, Notes: built.Notes}, err
	}
	return l.run(ctx)
}

// scenarioDir returns the folder of the scenario at path: path itself if that is a folder,
// else its parent, also if there is no such file.
func scenarioDir(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return path
	}
	return filepath.Dir(path)
}

// compile builds the executor of the scenario at path, or finds it in the cache, and
// passes its state, steps and notes to emit, which may be called by other goroutines. It
// first ends the background compile. Errors are of builder and compileError; the end of
// ctx ends the build, with exit status 130.
func (a *app) compile(ctx context.Context, path string, emit func(event.Event), log *slog.Logger) (build.Executor, error) {
	builder, err := a.builder(log)
	if err != nil {
		return build.Executor{}, err
	}
	build.StopBackground() // it would compete for the CPUs
	began := time.Now()
	emit(event.Event{Kind: event.State, State: run.Compiling})
	built, err := builder.Build(ctx, build.Source{Path: path}, build.Options{
		Person:   build.ThisPerson(),
		Progress: func(step string) { emit(event.Event{Kind: event.Step, State: run.Compiling, Text: step}) },
		Package:  func(path string) { emit(event.Event{Kind: event.Step, State: run.Compiling, Detail: path}) },
	})
	if err != nil {
		return built, compileError(path, err)
	}
	log.Info("compiled", "executor", built.Path, "sha256", built.SHA256, "cached", built.Cached, "took", time.Since(began))
	for _, note := range built.Notes {
		emit(event.Event{Kind: event.Note, Text: units.Safe(note)})
	}
	if !built.Cached {
		emit(event.Event{Kind: event.Note, Text: fmt.Sprintf("compiled in %.1f s", time.Since(began).Seconds())})
	}
	return built, nil
}

// builder returns the builder of scenarios, whose cache is this user's; it creates that
// folder. An error has exit status 1 and a hint.
func (a *app) builder(log *slog.Logger) (*build.Builder, error) {
	dir, err := build.DefaultDir()
	if err != nil {
		return nil, &exitError{exitFailed, err, "set XDG_CACHE_HOME or HOME to a folder that can be written"}
	}
	b, err := build.New(build.NewSDK(a.sdk), dir, log)
	if err != nil {
		return nil, &exitError{exitFailed, err, cacheStorage.hint(err)}
	}
	return b, nil
}

// compileError returns err, of building the scenario at path, with an exit status: 3 if
// the scenario does not compile, 2 for a wrong or missing file, 130 if it was cancelled,
// and else 1, as for a full disk, whatever that made fail. err must not be nil.
func compileError(path string, err error) error {
	var input *build.InputError
	var compile *build.CompileError
	switch {
	case errors.Is(err, context.Canceled):
		return &exitError{exitCancelled, errors.New("cancelled while compiling"), ""}
	case full(err):
		return &exitError{exitFailed, fmt.Errorf("compile %s: %w", path, err), cacheStorage.hint(err)}
	case errors.As(err, &compile):
		return &exitError{exitCompile, fmt.Errorf("%s does not compile:\n%w", path, compile), ""}
	case errors.As(err, &input):
		return &exitError{exitUsage, err, ""}
	case errors.Is(err, os.ErrNotExist):
		return &exitError{exitUsage, err, "name the scenario's file, as in: gobench run scenario.go"}
	}
	return &exitError{exitFailed, err, cacheStorage.hint(err)}
}
