package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/api"
	"github.com/gobench-io/gobench/internal/build"
	"github.com/gobench-io/gobench/internal/master"
	"github.com/gobench-io/gobench/internal/run/version"
	"github.com/gobench-io/gobench/internal/show/live"
)

// serveFlags are what a master is told.
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
	compile   time.Duration // longest that it may take
	keepRuns  int
	keepFor   time.Duration
	cache     string
	ledger    string
	scale     float64
	password  string
	file      string // of the password
}

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Start a master, with an agent in it (what gobench alone does)",
		Long: `Start a master: it queues runs, shares each out among its agents, keeps what they
counted and serves the API. It has an agent in it, so that one command is enough on
one machine; gobench agents join makes a token with which further hosts join.

The first start prints a link with which the first user, an admin, is made. All of it
listens on this machine only unless --addr and --agent-addr say otherwise.

The first Ctrl-C (or SIGTERM) cancels the run that is active and ends when that is
kept, the second ends at once.`,
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

// defaultServe is what gobench without a command does.
func defaultServe() *serveFlags {
	f := &serveFlags{}
	f.add(&cobra.Command{})
	return f
}

func (f *serveFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.addr, "addr", "127.0.0.1:8080", "`HOST:PORT` of the API")
	fs.StringVar(&f.agentAddr, "agent-addr", "127.0.0.1:8081", "`HOST:PORT` that agents connect to, with TLS")
	fs.StringSliceVar(&f.advertise, "advertise", nil, "`HOST:PORT` by which agents reach --agent-addr, where that is another one")
	fs.StringSliceVar(&f.hosts, "host", nil, "further name by which the API may be called")
	fs.StringVar(&f.cert, "tls-cert", "", "certificate `FILE` of the API")
	fs.StringVar(&f.key, "tls-key", "", "key `FILE` of --tls-cert")
	fs.BoolVar(&f.insecure, "insecure", false, "let other hosts reach the API without TLS, or before there is a user")
	fs.BoolVar(&f.noAgent, "no-agent", false, "no agent in this process")
	fs.StringVar(&f.db, "db", "", "`URL` of a PostgreSQL data base (default an SQLite file in --dir)")
	fs.StringVar(&f.nats, "nats", "", "`URL` of a NATS cluster to use, or several with commas (default a server in this process)")
	fs.StringVar(&f.creds, "nats-creds", "", "`FILE` of credentials for --nats")
	fs.StringVar(&f.natsCA, "nats-ca", "", "`FILE` with who signed the certificates of --nats, as PEM (default whom this host trusts); agents learn it by their tokens")
	timeVar(fs, &f.runLimit, "run-limit", "", 24*time.Hour, "longest that a run may last")
	timeVar(fs, &f.compile, "compile-limit", "", build.DefaultLimits().Time, "longest that a compile may take, with the download of modules")
	fs.IntVar(&f.keepRuns, "keep-runs", 0, "keep so many runs, the newest (default all)")
	timeVar(fs, &f.keepFor, "keep-for", "", 0, "keep runs for so long (default for ever)")
	fs.Lookup("keep-for").DefValue = ""
	fs.StringVar(&f.password, "admin-password", "", "password of the user admin; others can see it in the process list: prefer --admin-password-file or GOBENCH_ADMIN_PASSWORD")
	fs.StringVar(&f.file, "admin-password-file", "", "`FILE` with the password of the user admin")
	fs.StringVar(&f.cache, "cache", "", "`FOLDER` of what the compiler keeps (default the user's cache, of root /var/cache/gobench)")
	ledgerFlag(fs, &f.ledger)
	timeScaleFlag(fs, &f.scale)
	_ = cmd.MarkFlagDirname("cache")
	for _, name := range []string{"tls-cert", "tls-key", "nats-creds", "nats-ca", "admin-password-file"} {
		_ = cmd.MarkFlagFilename(name)
	}
}

// adminPassword is what the flags and the environment say; empty: nothing.
func (f *serveFlags) adminPassword(log *slog.Logger) (string, error) {
	switch {
	case f.password != "" && f.file != "":
		return "", usageError("", "--admin-password and --admin-password-file exclude each other")
	case f.password != "":
		log.Warn("the password is in the process list of this machine: --admin-password-file FILE or GOBENCH_ADMIN_PASSWORD keep it out of there")
		return f.password, nil
	case f.file != "":
		b, err := os.ReadFile(f.file)
		if err != nil {
			return "", usageError("", "--admin-password-file: %w", err)
		}
		return strings.TrimRight(string(b), "\r\n"), nil
	}
	password := os.Getenv("GOBENCH_ADMIN_PASSWORD")
	_ = os.Unsetenv("GOBENCH_ADMIN_PASSWORD") // not for what this process starts
	return password, nil
}

// serve is a master's life.
func (a *app) serve(cmd *cobra.Command, f *serveFlags) (err error) {
	log := a.serverLog()
	if err := f.checkStores(); err != nil {
		return err
	}
	password, err := f.adminPassword(log)
	if err != nil {
		return err
	}
	secure, err := f.tls()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", f.addr)
	if err != nil {
		return listenError("--addr", f.addr, err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	p, err := a.parts(ctx, f, l.Addr(), log)
	if err != nil {
		return err
	}
	defer a.endMaster(ctx, p.master, cancel, log)() // last, so that it ends what hangs in what comes before
	defer func() { err = errors.Join(err, p.close()) }()
	server, err := api.New(p.master, p.store, api.Options{Dir: p.dir, Hosts: f.hosts, TLS: secure, Insecure: f.insecure, Log: log})
	if err != nil {
		return err
	}
	if password != "" {
		if err := server.EnsureAdmin(ctx, password); err != nil {
			return usageError("", "the admin's password: %w", err)
		}
	}
	if err := server.MayListen(ctx, l.Addr()); err != nil {
		return usageError("--tls-cert FILE with --tls-key FILE, or --addr 127.0.0.1:PORT, or --insecure; --admin-password-file FILE makes the first user", "%w", err)
	}
	link, err := setupLink(ctx, server, f, l, secure != nil)
	if err != nil {
		return err
	}
	done := make(chan error, 3)
	working := 0
	begin := func(what string, part func(context.Context) error) {
		working++
		go func() {
			err := part(ctx)
			if err != nil && ctx.Err() == nil {
				err = fmt.Errorf("%s: %w", what, err)
			} else {
				err = nil
			}
			cancel(err)
			done <- err
		}()
	}
	begin("the master", p.master.Serve)
	begin("the API", func(ctx context.Context) error { return server.Serve(ctx, l) })
	if p.agent != nil {
		begin("the agent", p.agent)
	}
	warm := make(chan struct{})
	go func() {
		defer close(warm)
		p.compiler.warm(ctx)
	}()
	defer func() { <-warm }()
	log.Info("gobench is ready", "version", version.Version, "api", f.url(l, secure != nil), "agents", strings.Join(p.addresses, ","), "data", p.dir)
	if link != "" {
		fmt.Fprintf(a.stdout, "Make the first user here, within an hour:\n  %s\n", link)
	}
	slim()
	for range working {
		err = errors.Join(err, <-done)
	}
	if err != nil {
		return &exitError{exitFailed, err, ""}
	}
	return nil
}

// tls is what --tls-cert and --tls-key say.
func (f *serveFlags) tls() (*tls.Config, error) {
	if f.cert == "" && f.key == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, usageError("give both --tls-cert FILE and --tls-key FILE, as PEM", "--tls-cert: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

func (f *serveFlags) url(l net.Listener, secure bool) string {
	u := url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/"}
	if secure {
		u.Scheme = "https"
	}
	return u.String()
}

// setupLink is where the first user is made; empty when there is one.
func setupLink(ctx context.Context, s *api.Server, f *serveFlags, l net.Listener, secure bool) (string, error) {
	token, err := s.Setup(ctx)
	if err != nil || token == "" {
		return "", err
	}
	return f.url(l, secure) + "#setup=" + token, nil
}

// listenError says why an address can't be listened on, and which flag names another.
func listenError(flag, addr string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return &exitError{exitFailed, fmt.Errorf("%s is taken by another program, or by another gobench", addr), "choose another one with " + flag + " HOST:PORT"}
	}
	return usageError("want HOST:PORT, as 127.0.0.1:8080", "%s %s: %w", flag, addr, err)
}

// A master that ends has endLimit for all of it, of which its run has runLimit; once it is
// told again, it has againLimit.
const (
	endLimit   = 19 * time.Second
	runLimit   = 18 * time.Second
	againLimit = time.Second
)

// endMaster lets a first Ctrl-C or SIGTERM cancel the run that is active and end the
// master when that is done, and a second one end it at once. What has not ended in time, as
// a request that does not go on, ends with the process: all that counts is on disk. The
// function that it gives ends this.
func (a *app) endMaster(ctx context.Context, m *master.Master, end context.CancelCauseFunc, log *slog.Logger) func() {
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case <-ch:
		case <-done:
			return
		}
		log.Info("ending: cancelling the run that is active; a second signal ends at once")
		rests, again, late := rest(ctx, m, log), ch, time.NewTimer(endLimit)
		for {
			select {
			case <-rests:
				rests = nil
				end(nil)
			case <-again:
				again = nil
				end(nil)
				late.Reset(againLimit)
			case <-late.C:
				log.Warn("ending without what does not end")
				os.Exit(exitOK)
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(ch)
		close(done)
	}
}

// rest cancels the run that is active, and gives a channel that is closed when that is done.
func rest(ctx context.Context, m *master.Master, log *slog.Logger) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(ctx, runLimit)
		defer cancel()
		if err := m.Rest(ctx, "the end of the master"); err != nil && ctx.Err() == nil {
			log.Error("cancel the run that is active", "error", err)
		}
	}()
	return done
}

// serverLog writes lines of JSON where nobody reads them as they come.
func (a *app) serverLog() *slog.Logger {
	if f, ok := a.stderr.(*os.File); ok && live.IsTerminal(f) {
		return slog.New(slog.NewTextHandler(a.stderr, nil))
	}
	return slog.New(slog.NewJSONHandler(a.stderr, nil))
}
