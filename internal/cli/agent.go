package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gobench-io/gobench/internal/master/bus"
	"github.com/gobench-io/gobench/internal/run/version"
	"github.com/gobench-io/gobench/internal/server"
)

// agentFlags are what an agent is told.
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

// options describe the agent whose data is in dir.
func (f *agentFlags) options(dir string, log *slog.Logger) (server.AgentOptions, error) {
	creds, err := absolute(f.creds)
	return server.AgentOptions{Dir: dir, Name: f.name, Creds: creds, Work: f.work, SameUser: f.same, Memory: f.memory << 20, Ledger: f.ledger, TimeScale: f.scale, Log: log}, err
}

func (a *app) agentCommand() *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Make load on this host for a master",
		Long: `Make load on this host for a master.

gobench agents join, asked on the master, makes a token; with it this host joins once,
and is known from then on: further starts need no token. An agent connects to its
master and listens on nothing. It needs no Go.

Started as root, it runs each scenario as a user of its own without privileges.`,
		Example: `  gobench agent --join gobench-join_eyJ...
  gobench agent
  gobench agent --join - < token-file --dir /var/lib/gobench`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.agent(cmd.Context(), &f) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.join, "join", "", "`TOKEN` of gobench agents join; - reads it from standard input")
	fs.StringVar(&f.name, "name", "", "name of this host in reports (default its own)")
	fs.StringVar(&f.creds, "nats-creds", "", "`FILE` of credentials, where the master uses a NATS cluster")
	fs.StringVar(&f.natsCA, "nats-ca", "", "`FILE` with who signs the NATS cluster's certificates from now on, as PEM (default as the join token said)")
	fs.StringVar(&f.work, "work", "", "`FOLDER` for the private folders of runs (default the temporary one)")
	fs.BoolVar(&f.same, "same-user", false, "run scenarios as this user, also where they could have one of their own")
	fs.Int64Var(&f.memory, "memory", 0, "most memory that a run may use, in `MB`, where control groups can be made (default no limit)")
	ledgerFlag(fs, &f.ledger)
	timeScaleFlag(fs, &f.scale)
	_ = cmd.MarkFlagFilename("nats-creds")
	_ = cmd.MarkFlagFilename("nats-ca")
	_ = cmd.MarkFlagDirname("work")
	return cmd
}

// agent runs an agent until it is ended.
func (a *app) agent(ctx context.Context, f *agentFlags) error {
	log := a.serverLog()
	if err := checkCredentials(f.creds); err != nil {
		return err
	}
	dir := filepath.Join(a.dataDir(), "agent")
	o, err := f.options(dir, log)
	if err != nil {
		return &exitError{exitFailed, err, ""}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	who, err := bus.ReadIdentity(dir)
	switch {
	case f.join != "" && err == nil:
		return usageError("leave --join out to go on as it; to join another master, give another --dir", "this host has joined already, as agent %s of the master at %s", who.Agent, who.Addresses)
	case f.join != "":
		token, err := readToken(f.join)
		if err != nil {
			return err
		}
		t, err := bus.ParseToken(token)
		if err != nil {
			return usageError("gobench agents join, asked on the master, makes one", "--join: %w", err)
		}
		switch outside := t.Pin == [32]byte{}; {
		case outside && f.creds == "":
			return usageError(natsPage+" tells how it is made", "the master uses a NATS cluster: --nats-creds FILE is missing")
		case !outside && f.creds != "":
			return usageError("leave it out", "--nats-creds is for a NATS cluster, and this master has a server of its own")
		}
		if err := server.Join(ctx, token, o); err != nil {
			return &exitError{exitFailed, err, ""}
		}
	case errors.Is(err, fs.ErrNotExist):
		return usageError("ask the master for a token: gobench agents join", "this host has not joined a master: --join TOKEN is missing")
	case err != nil:
		return &exitError{exitFailed, err, ""}
	}
	if who, err = bus.ReadIdentity(dir); err != nil {
		return &exitError{exitFailed, err, ""}
	}
	if who, err = f.outside(dir, who); err != nil {
		return err
	}
	slim()
	log.Info("gobench agent", "version", version.Version, "agent", who.Agent, "master", who.Addresses)
	if err := server.RunAgent(ctx, who, o); err != nil {
		return &exitError{exitFailed, fmt.Errorf("agent: %w", err), ""}
	}
	return nil
}

// readToken gives a join token, from standard input if it is "-".
func readToken(s string) (string, error) {
	if s != "-" {
		return s, nil
	}
	b, err := io.ReadAll(io.LimitReader(os.Stdin, 64<<10))
	if err != nil {
		return "", &exitError{exitFailed, fmt.Errorf("read the token: %w", err), ""}
	}
	return strings.TrimSpace(string(b)), nil
}

// ledgerFlag adds the flag by which tests ask for executors' own accounts.
func ledgerFlag(fs *pflag.FlagSet, folder *string) {
	fs.StringVar(folder, "ledger", "", "keep what each executor says that it counted in `FOLDER`, for tests")
	_ = fs.MarkHidden("ledger")
}

// timeScaleFlag adds the flag by which tests of whole clusters shorten timeouts and
// intervals.
func timeScaleFlag(fs *pflag.FlagSet, factor *float64) {
	fs.Float64Var(factor, "time-scale", 1, "multiply timeouts and intervals of the cluster by this, for tests; the same on all hosts")
	_ = fs.MarkHidden("time-scale")
}
