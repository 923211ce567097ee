package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gobench-io/gobench/internal/master/bus"
	"github.com/gobench-io/gobench/internal/run/system"
	"github.com/gobench-io/gobench/internal/run/version"
	"github.com/gobench-io/gobench/internal/server"
)

// agentFlags are the flags of gobench agent. natsCA and join are not part of options:
// agent and setNATS read them.
type agentFlags struct {
	join   string
	name   string
	creds  string
	natsCA string
	work   string
	same   bool
	memory int64
	ledger string
	scale  float64
}

// options returns the options of the agent whose data is in dir, with --nats-creds as an
// absolute path and --memory in bytes. The error is that of making the path absolute.
func (f *agentFlags) options(dir string, log *slog.Logger) (server.AgentOptions, error) {
	creds, err := absolute(f.creds)
	return server.AgentOptions{Dir: dir, Name: f.name, Creds: creds, Work: f.work, SameUser: f.same, Memory: f.memory << 20, Ledger: f.ledger, TimeScale: f.scale, Log: log}, err
}

// agentCommand returns gobench agent; agent runs it.
func (a *app) agentCommand() *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Make load on this host for a master",
		Long: `Make load on this host for a master.

gobench agents join makes a token; with it this host joins the master once. Further
starts need no token. An agent connects to its master, and no port is opened on this
host. It needs no Go toolchain.

If it is started as root, it runs each scenario as a user without privileges.

The first Ctrl-C (or SIGTERM) cancels the active run and ends when nothing of it is left,
the second ends at once.`,
		Example: `  gobench agent --join gobench-join_eyJ...
  gobench agent
  gobench agent --join - < token-file --dir /var/lib/gobench`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.agent(cmd.Context(), &f) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.join, "join", "", "`TOKEN` of gobench agents join; - reads it from standard input")
	fs.StringVar(&f.name, "name", "", "name of this host in reports (default its host name)")
	fs.StringVar(&f.creds, "nats-creds", "", "`FILE` of credentials, if the master uses a NATS cluster")
	fs.StringVar(&f.natsCA, "nats-ca", "", "`FILE` with the authorities that sign the NATS cluster's certificates, as PEM (default those of the join token)")
	fs.StringVar(&f.work, "work", "", "`FOLDER` for the private folders of runs, made if it is missing (default the temporary folder)")
	fs.BoolVar(&f.same, "same-user", false, "run scenarios as this user, even if started as root")
	fs.Int64Var(&f.memory, "memory", 0, "most memory that a run may use, in `MB`, where control groups are available (default no limit)")
	ledgerFlag(fs, &f.ledger)
	timeScaleFlag(fs, &f.scale)
	_ = cmd.MarkFlagFilename("nats-creds")
	_ = cmd.MarkFlagFilename("nats-ca")
	_ = cmd.MarkFlagDirname("work")
	return cmd
}

// agent runs an agent until ctx ends or the process receives SIGINT or SIGTERM (see
// endOnSignal; what it could not end is ended by its next start), which is not an error,
// except while it joins. With --join it first joins the master and stores the agent's
// identity in the folder agent of --dir; a host that has joined refuses --join, and one that
// has not needs it: both are usage errors. An identity that was stored remains if the agent
// then fails.
func (a *app) agent(ctx context.Context, f *agentFlags) error {
	log := a.serverLog()
	if err := checkCredentials(f.creds); err != nil {
		return err
	}
	dir := filepath.Join(a.dataDir(), "agent")
	o, err := f.options(dir, log)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer endOnSignal(ctx, agentEnd(cancel), log)()
	who, err := bus.ReadIdentity(dir)
	switch {
	case f.join != "" && err == nil:
		return usageError("leave --join out to continue as that agent; to join another master, name another --dir", "this host has joined already, as agent %s of the master at %s", who.Agent, who.Addresses)
	case f.join != "":
		token, err := readToken(f.join)
		if err != nil {
			return err
		}
		t, err := bus.ParseToken(token)
		if err != nil {
			return usageError("gobench agents join --master URL makes one", "--join: %w", err)
		}
		switch outside := t.Pin == [32]byte{}; {
		case outside && f.creds == "":
			return usageError(natsPage+" shows how to make it", "the master uses a NATS cluster: --nats-creds FILE is missing")
		case !outside && f.creds != "":
			return usageError("leave it out", "--nats-creds is for a NATS cluster, and this master has a server of its own")
		}
		if err := server.Join(ctx, token, o); err != nil {
			return err
		}
	case errors.Is(err, fs.ErrNotExist):
		return usageError("make a token with: gobench agents join --master URL", "this host has not joined a master: --join TOKEN is missing (%w)", err)
	case err != nil:
		return err
	}
	if who, err = bus.ReadIdentity(dir); err != nil {
		return err
	}
	if who, err = f.setNATS(dir, who); err != nil {
		return err
	}
	system.Slim()
	log.Info("gobench agent", "version", version.Version, "agent", who.Agent, "master", who.Addresses)
	if err := server.RunAgent(ctx, who, o); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	return nil
}

// agentEnd cancels the context of an agent, which then ends its run and itself.
type agentEnd func()

func (end agentEnd) Shutdown(context.Context) { end() }
func (end agentEnd) End()                     { end() }

// Settled returns false: an agent that does not end has left something of its run.
func (agentEnd) Settled() bool { return false }

// readToken returns s, or for "-" the first 64 KiB of standard input without white space
// around them. It does not check the token, which may be empty.
func readToken(s string) (string, error) {
	if s != "-" {
		return s, nil
	}
	b, err := io.ReadAll(io.LimitReader(os.Stdin, 64<<10))
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// ledgerFlag adds the hidden flag --ledger, a folder to which each executor writes its own
// counts. Tests compare these with what a master has stored.
func ledgerFlag(fs *pflag.FlagSet, folder *string) {
	fs.StringVar(folder, "ledger", "", "write what each executor itself has counted to `FOLDER`, for tests")
	_ = fs.MarkHidden("ledger")
}

// timeScaleFlag adds the hidden flag --time-scale, a factor (default 1) by which tests of
// whole clusters shorten timeouts and intervals. All hosts of a cluster need the same one.
func timeScaleFlag(fs *pflag.FlagSet, factor *float64) {
	fs.Float64Var(factor, "time-scale", 1, "multiply timeouts and intervals of the cluster by this, for tests; the same on all hosts")
	_ = fs.MarkHidden("time-scale")
}
