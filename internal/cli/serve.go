package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/build"
	"github.com/gobench-io/gobench/internal/run/system"
	"github.com/gobench-io/gobench/internal/server"
	"github.com/gobench-io/gobench/internal/show/live"
)

// serveFlags are the flags of gobench serve. Addresses and files are as typed.
type serveFlags struct {
	addr      string
	agentAddr string
	advertise []string
	hosts     []string
	cert, key string
	insecure  bool
	noAgent   bool
	db        string
	nats      string
	creds     string
	natsCA    string
	runLimit  time.Duration
	compile   time.Duration // longest time of a compile
	keepRuns  int
	keepFor   time.Duration
	cache     string
	ledger    string
	scale     float64
	password  string
	file      string // of the password
}

// serveCommand returns gobench serve; serve runs it.
func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Start a master with an agent (as gobench without a command does)",
		Long: `Start a master: it queues runs, splits each over its agents, stores what they counted
and serves the API. It includes an agent, so that one command is enough on one machine;
gobench agents join makes a token with which further hosts join.

The first start prints a link at which the first user, an admin, is made. It listens on
this machine only, unless --addr and --agent-addr name other addresses.

The first Ctrl-C (or SIGTERM) cancels the active run and ends when that is stored, the
second ends at once.`,
		Example: `  gobench
  gobench serve --addr 127.0.0.1:9000 --dir /var/lib/gobench
  gobench serve --addr 0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem --agent-addr 0.0.0.0:8444
  gobench serve --db postgres://gobench@db.example/gobench`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd, &f) },
	}
	f.add(cmd)
	return cmd
}

// add adds the flags to cmd, which sets f to their defaults.
func (f *serveFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.addr, "addr", "127.0.0.1:8080", "`HOST:PORT` of the API")
	fs.StringVar(&f.agentAddr, "agent-addr", "127.0.0.1:8081", "`HOST:PORT` that agents connect to, with TLS")
	fs.StringSliceVar(&f.advertise, "advertise", nil, "`HOST:PORT` by which agents reach --agent-addr, if it differs")
	fs.StringSliceVar(&f.hosts, "host", nil, "additional `HOST` name of the API")
	fs.StringVar(&f.cert, "tls-cert", "", "certificate `FILE` of the API")
	fs.StringVar(&f.key, "tls-key", "", "key `FILE` of --tls-cert")
	fs.BoolVar(&f.insecure, "insecure", false, "let other hosts reach the API without TLS, or before a user exists")
	fs.BoolVar(&f.noAgent, "no-agent", false, "do not run an agent in this process")
	fs.StringVar(&f.db, "db", "", "`URL` of a PostgreSQL database (default an SQLite file in --dir)")
	fs.StringVar(&f.nats, "nats", "", "`URL` of a NATS cluster to use, or several with commas (default a server in this process)")
	fs.StringVar(&f.creds, "nats-creds", "", "`FILE` of credentials for --nats")
	fs.StringVar(&f.natsCA, "nats-ca", "", "`FILE` with the authorities of the certificates of --nats, as PEM (default those of this host); join tokens contain it")
	timeVar(fs, &f.runLimit, "run-limit", "", 24*time.Hour, "longest time of a run")
	timeVar(fs, &f.compile, "compile-limit", "", build.DefaultLimits().Time, "longest time of a compile, with the download of modules")
	fs.IntVar(&f.keepRuns, "keep-runs", 0, "number of runs to keep, the newest (default all)")
	timeVar(fs, &f.keepFor, "keep-for", "", 0, "how long to keep runs (default forever)")
	fs.Lookup("keep-for").DefValue = ""
	fs.StringVar(&f.password, "admin-password", "", "password of the user admin; others can see it in the process list: prefer --admin-password-file or GOBENCH_ADMIN_PASSWORD")
	fs.StringVar(&f.file, "admin-password-file", "", "`FILE` with the password of the user admin")
	fs.StringVar(&f.cache, "cache", "", "`FOLDER` of the compiler's cache (default the user's cache, of root /var/cache/gobench)")
	ledgerFlag(fs, &f.ledger)
	timeScaleFlag(fs, &f.scale)
	_ = cmd.MarkFlagDirname("cache")
	for _, name := range []string{"tls-cert", "tls-key", "nats-creds", "nats-ca", "admin-password-file"} {
		_ = cmd.MarkFlagFilename(name)
	}
}

// adminPassword returns the password of --admin-password (with a warning in log),
// --admin-password-file or GOBENCH_ADMIN_PASSWORD, which it removes from the environment
// if no flag is set; empty if none of them is set. Both flags, and a file that can't be
// read, are usage errors.
func (f *serveFlags) adminPassword(log *slog.Logger) (string, error) {
	switch {
	case f.password != "" && f.file != "":
		return "", usageError("", "--admin-password and --admin-password-file exclude each other")
	case f.password != "":
		log.Warn("the password is in the process list of this machine: use --admin-password-file FILE or GOBENCH_ADMIN_PASSWORD")
		return f.password, nil
	case f.file != "":
		b, err := os.ReadFile(f.file)
		if err != nil {
			return "", usageError("", "--admin-password-file: %w", err)
		}
		return strings.TrimRight(string(b), "\r\n"), nil
	}
	password := os.Getenv("GOBENCH_ADMIN_PASSWORD")
	_ = os.Unsetenv("GOBENCH_ADMIN_PASSWORD") // child processes must not have it
	return password, nil
}

// serve runs a master, and blocks until it has ended: by SIGINT or SIGTERM (see
// endOnSignal), when the context of cmd ends, or when a part of it fails. It returns nil
// after a regular end. When the master is ready, it prints the link for the first user, if
// the server has one.
func (a *app) serve(cmd *cobra.Command, f *serveFlags) error {
	o, err := f.options(a.serverLog())
	if err != nil {
		return err
	}
	o.Dir = a.dataDir()
	o.Ready = func(link string) {
		if link != "" {
			fmt.Fprintf(a.stdout, "Make the first user here, within an hour:\n  %s\n", link)
		}
		system.Slim()
	}
	if o.Listener, err = net.Listen("tcp", f.addr); err != nil {
		return listenError("--addr", f.addr, err)
	}
	defer o.Listener.Close()
	s, err := server.New(cmd.Context(), o)
	if err != nil {
		return f.serverError(err)
	}
	defer endOnSignal(cmd.Context(), s, o.Log)() // after Run, so that a second signal ends a close that hangs
	return s.Run()
}

// options checks the flags and returns the server that they describe, without Dir, Ready
// and Listener. It reads the files that they name, and may remove GOBENCH_ADMIN_PASSWORD
// from the environment. After an error o is not usable.
func (f *serveFlags) options(log *slog.Logger) (o server.Options, err error) {
	o = server.Options{Hosts: f.hosts, Insecure: f.insecure, AgentAddr: f.agentAddr, Advertise: f.advertise, NoAgent: f.noAgent, Ledger: f.ledger,
		Database: f.db, RunLimit: f.runLimit, CompileLimit: f.compile, KeepRuns: f.keepRuns, KeepFor: f.keepFor, Cache: f.cache,
		TimeScale: f.scale, NoWarm: os.Getenv(build.NoBackgroundEnv) != "", Log: log}
	switch {
	case f.runLimit <= 0:
		return o, usageError("", "--run-limit is %v: want more than 0", f.runLimit)
	case f.compile <= 0:
		return o, usageError("", "--compile-limit is %v: want more than 0", f.compile)
	case f.keepRuns < 0:
		return o, usageError("", "--keep-runs is %d: want 0 or more", f.keepRuns)
	case f.keepFor < 0:
		return o, usageError("", "--keep-for is %v: want 0 or more", f.keepFor)
	}
	if err := f.checkStores(); err != nil {
		return o, err
	}
	if o.Password, err = f.adminPassword(log); err != nil {
		return o, err
	}
	if o.TLS, err = f.tls(); err != nil {
		return o, err
	}
	if o.Creds, err = absolute(f.creds); err != nil {
		return o, err
	}
	if f.nats != "" {
		o.NATS, o.CA, err = f.natsServers()
	}
	return o, err
}

// serverError returns the error of server.New as one with an exit status, 2 for a wrong
// flag and else 1, and a hint at the flag that would help.
func (f *serveFlags) serverError(err error) error {
	part := server.PartOther
	var e *server.Error
	if errors.As(err, &e) {
		part = e.Part
	}
	hint := ""
	switch part {
	case server.PartDatabase:
		return f.storeError(err)
	case server.PartAgentListener:
		return listenError("--agent-addr", f.agentAddr, err)
	case server.PartBus:
		return f.natsError(err)
	case server.PartPassword:
		return usageError("", "the admin's password: %w", err)
	case server.PartExposed:
		return usageError("--tls-cert FILE with --tls-key FILE, or --addr 127.0.0.1:PORT, or --insecure; --admin-password-file FILE makes the first user", "%w", err)
	case server.PartFolder:
		hint = dataStorage.hint(err)
	case server.PartCompiler:
		hint = tempStorage.hint(err)
	case server.PartCache:
		hint = "--cache FOLDER names another one"
	}
	return &exitError{exitFailed, err, hint}
}

// tls returns the configuration of --tls-cert and --tls-key; nil if neither is set. Only
// one of them, and files that can't be loaded, are a usage error.
func (f *serveFlags) tls() (*tls.Config, error) {
	if f.cert == "" && f.key == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, usageError("both --tls-cert FILE and --tls-key FILE are needed, as PEM", "--tls-cert: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// listenError returns why addr can't be listened on, and the flag that names another:
// status 1 if it is in use, else a usage error.
func listenError(flag, addr string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return &exitError{exitFailed, fmt.Errorf("%s is used by another program, or by another gobench", addr), "choose another one with " + flag + " HOST:PORT"}
	}
	return usageError("want HOST:PORT, as 127.0.0.1:8080", "%s %s: %w", flag, addr, err)
}

// Time limits of a server's end.
const (
	endLimit    = 19 * time.Second // all of it
	runLimit    = 18 * time.Second // cancelling the active run
	secondLimit = time.Second      // all that is left after a second signal
)

// ender is a server or an agent.
type ender interface {
	Shutdown(ctx context.Context) // cancels the active run and ends it
	End()                         // ends it at once
	Settled() bool                // reports whether what has not ended does no harm
}

// endOnSignal makes a first Ctrl-C or SIGTERM cancel the active run, for at most 18 s, and
// then end s, and a second one end it at once. If s has not ended 19 s after the first signal
// or 1 s after the second, it exits the process: with exitOK, as with a request that is stuck,
// but with exitFailed if s is not settled, as with a disk that does not answer, and no second
// signal asked for that. The caller must call stop once, when s has ended.
func endOnSignal(ctx context.Context, s ender, log *slog.Logger) (stop func()) {
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go endOn(ctx, ch, done, s, log, os.Exit)
	return func() {
		signal.Stop(ch)
		close(done)
	}
}

// endOn ends s as endOnSignal does, until done is closed, and calls exit if s does not end.
// The end of ctx only ends the wait for the active run.
func endOn(ctx context.Context, signals <-chan os.Signal, done <-chan struct{}, s ender, log *slog.Logger, exit func(status int)) {
	select {
	case <-signals:
	case <-done:
		return
	}
	log.Info("ending: cancelling the active run; a second signal ends at once")
	go func() {
		ctx, cancel := context.WithTimeout(ctx, runLimit)
		defer cancel()
		s.Shutdown(ctx)
	}()
	second, late := signals, time.NewTimer(endLimit)
	for {
		select {
		case <-second:
			second = nil
			s.End()
			late.Reset(secondLimit)
		case <-late.C:
			log.Warn("ending without waiting for the parts that have not ended")
			if second == nil || s.Settled() {
				exit(exitOK)
			} else {
				exit(exitFailed)
			}
			return
		case <-done:
			return
		}
	}
}

// serverLog returns a log of JSON lines with ts, level and msg, or of text on a terminal.
func (a *app) serverLog() *slog.Logger {
	if f, ok := a.stderr.(*os.File); ok && live.IsTerminal(f) {
		return slog.New(slog.NewTextHandler(a.stderr, nil))
	}
	return slog.New(slog.NewJSONHandler(a.stderr, &slog.HandlerOptions{ReplaceAttr: func(groups []string, x slog.Attr) slog.Attr {
		if len(groups) == 0 && x.Key == slog.TimeKey {
			x.Key = "ts"
		}
		return x
	}}))
}
