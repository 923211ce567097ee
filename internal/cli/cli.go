// Package cli is gobench's command line: it has the flags, owns standard output and
// error, and turns what happened into an exit status.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/agent/sandbox"
	"github.com/gobench-io/gobench/internal/build"
	"github.com/gobench-io/gobench/internal/builtin"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/system"
	"github.com/gobench-io/gobench/internal/run/version"
	"github.com/gobench-io/gobench/internal/server"
)

// Exit statuses (docs/exit-codes.md).
const (
	exitOK        = run.ExitOK
	exitFailed    = run.ExitFailed
	exitUsage     = run.ExitUsage
	exitCompile   = run.ExitCompile
	exitCrossed   = run.ExitCrossed
	exitInvalid   = run.ExitInvalid
	exitUndecided = run.ExitUndecided
	exitCancelled = run.ExitCancelled
)

// exitError is an error with the exit status of the process, and a hint that main prints
// on a separate line; hint may be empty. If err is nil, main prints nothing, as the report
// has shown the reason.
type exitError struct {
	status int
	err    error
	hint   string
}

// Error returns the text of err, without the hint; empty if err is nil.
func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageError is run.Usage.
func usageError(hint, format string, args ...any) error { return run.Usage(hint, format, args...) }

// statusOf returns the *exitError in err: exit status 2 with its hint for a *run.UsageError.
// ok is false, and exit nil, for an error without a status.
func statusOf(err error) (exit *exitError, ok bool) {
	var usage *run.UsageError
	switch {
	case errors.As(err, &exit):
		return exit, true
	case errors.As(err, &usage):
		return &exitError{exitUsage, err, usage.Hint}, true
	}
	return nil, false
}

// app is one execution of a command line. A method xCommand returns a new command x with
// its flags bound to variables of that call; it runs nothing. What a command prints for
// its user goes to stdout. An error that statusOf does not know has exit status 1 (failing).
type app struct {
	sdk    fs.FS // gobench's own sources, for compiling scenarios
	stdout io.Writer
	stderr io.Writer
	dir    string // --dir
}

// Main runs the command line of this process and returns its exit status, which the caller
// must exit with. sdk has the sources that scenarios are compiled against. In a process
// that gobench started for a part of its work (an executor, a compile, the background
// compile, an agent's helper) it does that part instead; as a helper or an executor it
// exits the process itself. Call it once.
func Main(sdk fs.FS) int {
	sandbox.Main() // an agent's helper is this program, too
	if len(os.Args) == 3 && os.Args[1] == executorCommand {
		system.Slim()
		return runExecutor(os.Args[2])
	}
	if len(os.Args) == 2 && os.Args[1] == build.BackgroundCommand {
		return runBackground(sdk)
	}
	if server.IsCompiler() {
		return server.RunCompiler(sdk)
	}
	a := &app{sdk: sdk, stdout: os.Stdout, stderr: os.Stderr}
	return a.main(context.Background(), os.Args[1:])
}

// main runs the command line args, without the program's name, and returns its exit
// status. It prints an error and its hint to a.stderr, each on a line. cobra's own errors
// have status 2; what a command returns without a status has 1 (failing).
func (a *app) main(ctx context.Context, args []string) int {
	root := a.root()
	root.InitDefaultCompletionCmd()
	failing(root)
	root.SetArgs(args)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	exit, ok := statusOf(err)
	if !ok { // cobra's own, as failing marks all others: the command line is wrong
		exit = misuse(cmd, err)
	}
	if exit.err != nil {
		fmt.Fprintf(a.stderr, "gobench: %v\n", exit.err)
		if hint := cmp.Or(exit.hint, untrusted(cmd, exit.err)); hint != "" {
			fmt.Fprintf(a.stderr, "hint: %s\n", hint)
		}
	}
	return exit.status
}

// failing wraps what cmd and the commands below it run: an error that has no exit status, as
// of a write to standard output, gets that of a failure. Call it once, when all commands have
// been added.
func failing(cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			err := run(cmd, args)
			if _, ok := statusOf(err); err == nil || ok {
				return err
			}
			return &exitError{exitFailed, err, ""}
		}
	}
	for _, c := range cmd.Commands() {
		failing(c)
	}
}

// root returns the command gobench with all of its subcommands. Without a subcommand it
// is gobench serve, with all of its flags. It binds --dir to a.dir.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "gobench",
		Short: "Measure how systems behave under load",
		Long: `gobench puts load on a system and reports how it behaved, in numbers that can be trusted.

A scenario is a Go file that describes what users do; gobench compiles and runs it.
Plain HTTP load needs no scenario. Several machines make load together if one of them
is their master: gobench without a command starts one, as gobench serve does, with
the same flags.`,
		Example: `  gobench http -c 30 -d 10s http://localhost:8080/
  gobench run scenario.go --duration 1m -o result.json
  gobench runs
  gobench show last`,
		SilenceUsage:       true,
		SilenceErrors:      true,
		DisableSuggestions: true, // misuse has them
		Version:            version.Version,
	}
	root.SetVersionTemplate("gobench {{.Version}}\n")
	root.PersistentFlags().StringVar(&a.dir, "dir", "", "folder of gobench's data (default $XDG_DATA_HOME/gobench or ~/.gobench)")
	_ = root.MarkPersistentFlagDirname("dir")
	root.AddCommand(a.initCommand(), a.runCommand(), a.httpCommand(), a.targetCommand(), a.runsCommand(), a.showCommand(), a.reportCommand(), a.cleanCommand(), a.ctlCommand(), a.doctorCommand(), a.versionCommand(),
		a.serveCommand(), a.agentCommand(), a.loginCommand(), a.logoutCommand(), a.submitCommand(), a.cancelCommand(), a.stopCommand(), a.logsCommand(), a.profileCommand(),
		a.agentsCommand(), a.tokensCommand(), a.usersCommand(), a.backupCommand(), a.exportCommand(), a.importCommand(), a.openAPICommand(), a.rerunCommand())
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(cmp.Or(aliases[name], name))
	})
	var f serveFlags
	f.add(root)
	root.LocalNonPersistentFlags().VisitAll(func(x *pflag.Flag) { x.Hidden = true }) // gobench serve --help has them
	root.RunE = func(cmd *cobra.Command, _ []string) error { return a.serve(cmd, &f) }
	return root
}

// aliases are names of flags that other tools have for ours.
var aliases = map[string]string{"clients": "connections", "output-json-path": "output"}

// executorCommand begins the command line of a built-in scenario's executor:
// "gobench executor http", which gobench itself calls.
const executorCommand = "executor"

// runExecutor is the executor of the built-in scenario name, whose options it reads from
// standard input. It exits the process when the run ends, and returns 2 if gobench did not
// start this process (executor.SocketEnv is not set), or if name or the options are
// invalid.
func runExecutor(name string) int {
	var vus scenario.Vus
	err := errors.New("this is an executor's command")
	if os.Getenv(executor.SocketEnv) != "" {
		var options []byte
		if options, err = io.ReadAll(os.Stdin); err == nil {
			vus, err = builtin.Vus(name, options)
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "gobench: %v\nhint: gobench starts this itself; see gobench --help\n", err)
		return exitUsage
	}
	executor.Main(vus)
	return exitOK
}

// runBackground is the background compile (build.RunBackground), until it is done or SIGINT or
// SIGTERM ends it, and returns its exit status: 0 or, after a signal too, 1.
func runBackground(sdk fs.FS) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if build.RunBackground(ctx, build.NewSDK(sdk)) != nil {
		return exitFailed
	}
	return exitOK
}
