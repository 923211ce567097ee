// Package server is the process of a master: it opens the store, the bus, the master, the
// API, the compiler's process and an agent of its own, runs them, and closes them in
// order. [RunAgent] is the process of an agent.
package server

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gobench-io/gobench/internal/api"
	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/master"
	"github.com/gobench-io/gobench/internal/master/bus"
	"github.com/gobench-io/gobench/internal/master/store"
	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/run/version"
)

// Options describe a master's process. Dir, Listener, AgentAddr (without NATS) and Log are
// required.
type Options struct {
	Dir string // gobench's data: the master's in master below it, its own agent's in agent

	Listener net.Listener // of the API; closed when Run returns
	Hosts    []string     // further names by which the API may be called
	TLS      *tls.Config  // of the API; nil: plain HTTP
	Insecure bool         // other hosts may reach the API without TLS, or before there is a user
	Password string       // of the user admin, who is created if missing; empty: unchanged

	AgentAddr string   // HOST:PORT that agents connect to
	Advertise []string // HOST:PORTs by which they reach it; empty: AgentAddr
	NoAgent   bool     // no agent in this process
	Ledger    string   // see AgentOptions

	Database string   // URL of a PostgreSQL database; empty: the SQLite file Database(Dir)
	NATS     []string // URLs of a NATS cluster; empty: a server in this process
	Creds    string   // file of credentials for NATS
	CA       []byte   // authorities of NATS's certificates, from bus.ReadAuthorities; nil: the host's

	RunLimit     time.Duration // longest that a run may last
	CompileLimit time.Duration // longest that a compile may take
	KeepRuns     int           // number of runs to keep, the newest; 0: all
	KeepFor      time.Duration // how long to keep runs; 0: forever
	Cache        string        // the compiler's folder; empty: the user's cache, of root /var/cache/gobench
	TimeScale    float64       // factor of all timeouts and intervals of the cluster, for tests; 0: 1
	NoWarm       bool          // do not compile in advance what all scenarios import

	Ready func(link string) // called once, when all parts run; link makes the first user, empty if there is one; nil: nothing
	Log   *slog.Logger
}

// Part is the part of a server that an Error comes from.
type Part int

// The parts.
const (
	PartOther         Part = iota
	PartFolder             // Dir can't be written
	PartDatabase           // Database can't be opened
	PartAgentListener      // AgentAddr can't be listened on
	PartBus                // NATS can't be reached or used
	PartCompiler           // a temporary folder to compile in can't be made
	PartCache              // Cache can't be made
	PartPassword           // Password is refused
	PartExposed            // the API may not be served at Listener's address
)

// Error is New's error. A command line names the flag and a hint by its Part.
type Error struct {
	Part Part
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Server is a master's process. Shutdown and End may be called by any goroutine while Run
// runs.
type Server struct {
	o         Options
	dir       string // of the master's data
	store     *store.Store
	bus       *bus.Server // nil with a NATS cluster
	conn      *bus.MasterConn
	master    *master.Master
	addresses []string // that agents connect to
	compiler  *compiler
	api       *api.Server
	log       *slog.Logger
	link      string
	cancel    context.CancelCauseFunc
	ctx       context.Context // from New to the end of Run
	settled   atomic.Bool     // the master has ended
}

// Database returns the path of the SQLite database of a master whose data is in dir. It is
// absolute, as a URI of SQLite requires.
func Database(dir string) string {
	path := filepath.Join(dir, "master", "gobench.db")
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// New opens all parts of a master. The caller must call Run, which closes them. An error wraps
// an *[Error], and nothing is left open then but o.Listener, which the caller closes. The
// end of ctx ends the server.
func New(ctx context.Context, o Options) (_ *Server, err error) {
	s := &Server{o: o, dir: filepath.Join(o.Dir, "master"), log: o.Log}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	defer func() {
		if err == nil {
			return
		}
		s.cancel(nil)
		var known *Error
		err = errors.Join(err, s.close())
		if !errors.As(err, &known) {
			err = &Error{PartOther, err}
		}
	}()
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, &Error{PartFolder, fmt.Errorf("make the master's folder: %w", err)}
	}
	if err := s.openStore(); err != nil {
		return nil, &Error{PartDatabase, err}
	}
	if err := s.openMaster(); err != nil {
		return nil, err
	}
	s.api, err = api.New(s.master, s.store, api.Options{Dir: s.dir, Hosts: o.Hosts, TLS: o.TLS, Insecure: o.Insecure, Log: o.Log})
	if err != nil {
		return nil, err
	}
	if o.Password != "" {
		if err := s.api.EnsureAdmin(s.ctx, o.Password); err != nil {
			return nil, &Error{PartPassword, err}
		}
	}
	if err := s.api.MayListen(s.ctx, o.Listener.Addr()); err != nil {
		return nil, &Error{PartExposed, err}
	}
	token, err := s.api.Setup(s.ctx)
	if err != nil {
		return nil, err
	}
	if token != "" {
		s.link = s.url() + "#setup=" + token
	}
	return s, nil
}

// Run serves until one of the parts fails, the context of New ends, or Shutdown or End has
// ended the server. It then closes all parts and o.Listener, and returns the error of the part
// that failed and those of closing, nil if there was no failure; errors of parts that the end
// leads to are dropped. It must be called once.
func (s *Server) Run() (err error) {
	defer func() { err = errors.Join(err, s.close()) }()
	defer s.cancel(nil)
	done := make(chan error, 3)
	running := 0
	start := func(what string, part func(context.Context) error) {
		running++
		go func() {
			err := part(s.ctx)
			if err != nil && s.ctx.Err() == nil {
				err = fmt.Errorf("%s: %w", what, err)
			} else {
				err = nil
			}
			s.cancel(err)
			done <- err
		}()
	}
	start("the master", func(ctx context.Context) error {
		defer s.settled.Store(true)
		return s.master.Serve(ctx)
	})
	start("the API", func(ctx context.Context) error { return s.api.Serve(ctx, s.o.Listener) })
	if !s.o.NoAgent {
		start("the agent", s.ownAgent)
	}
	warm := make(chan struct{})
	go func() {
		defer close(warm)
		if !s.o.NoWarm {
			s.compiler.warm()
		}
	}()
	defer func() { <-warm }()
	s.log.Info("gobench is ready", "version", version.Version, "api", s.url(), "agents", strings.Join(s.addresses, ","), "port", s.port(), "directory", s.dir)
	if s.o.Ready != nil {
		s.o.Ready(s.link)
	}
	for range running {
		err = errors.Join(err, <-done)
	}
	return err
}

// Shutdown cancels the active run, waits until that is final, ctx ends or the server ends,
// and ends the server. It does not wait for Run to return. An error of the cancel is logged.
func (s *Server) Shutdown(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if err := s.master.Shutdown(ctx, "the end of the master"); err != nil && s.ctx.Err() == nil {
		s.log.Error("cancel the active run", "error", err)
	}
	s.cancel(nil)
}

// Settled reports whether the master has ended: nothing is on its way to the store. Other
// parts, as requests to the API, may not have ended.
func (s *Server) Settled() bool { return s.settled.Load() }

// End ends the server at once. The next start settles the active run.
func (s *Server) End() { s.cancel(nil) }

// url returns the API's URL at its listener's address, with a final slash.
func (s *Server) url() string {
	u := url.URL{Scheme: "http", Host: s.o.Listener.Addr().String(), Path: "/"}
	if s.o.TLS != nil {
		u.Scheme = "https"
	}
	return u.String()
}

// port returns the port of the API.
func (s *Server) port() int {
	if a, ok := s.o.Listener.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

// close closes what is open, in order, and returns all errors. It does not close the
// listener. It must be called once.
func (s *Server) close() error {
	var errs []error
	if s.conn != nil {
		s.conn.Close()
	}
	if s.bus != nil {
		errs = append(errs, s.bus.Close())
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	return errors.Join(errs...)
}

// openStore opens the store and sets s.store; close closes it.
func (s *Server) openStore() (err error) {
	o := store.Options{Dir: filepath.Join(s.dir, "copies"), Fold: merge.Fold, Log: s.log, Keep: store.Keep{Runs: s.o.KeepRuns, Age: s.o.KeepFor}, DSN: s.o.Database}
	if o.DSN == "" {
		o.Path = Database(s.o.Dir)
	}
	s.store, err = store.Open(s.ctx, o)
	return err
}

// openMaster opens the bus and the compiler, connects the master to its bus and creates it.
// After an error, close closes what was opened. An error is an *[Error] if the part is known.
// Call openStore before.
func (s *Server) openMaster() error {
	seed, err := s.secret("signing key", bus.NewSeed)
	if err != nil {
		return err
	}
	id, err := s.secret("cluster", func() ([]byte, error) { return []byte(strings.ToLower(rand.Text())), nil })
	if err != nil {
		return err
	}
	created := make(chan struct{}) // closed once there is a master: agents that have joined connect before
	if s.addresses = s.o.NATS; len(s.o.NATS) == 0 {
		if err := s.openBus(created); err != nil {
			return &Error{PartAgentListener, err}
		}
	}
	with := bus.MasterOptions{Server: s.bus, URL: strings.Join(s.addresses, ","), Creds: s.o.Creds, CA: s.o.CA, Seed: seed, Log: s.log, Times: timeScale(s.o.TimeScale).bus()}
	if s.conn, err = bus.Master(s.ctx, with); err != nil {
		return &Error{PartBus, err}
	}
	if s.compiler, err = newCompiler(s.ctx, s.o.Cache, s.dir, s.o.CompileLimit, s.log); err != nil {
		return err
	}
	s.master, err = master.New(master.Options{Store: s.store, Bus: s.conn, Compiler: s.compiler, Dir: s.dir, Logger: s.log, Key: s.conn.PublicKey(), Cluster: string(id),
		RunLimit: s.o.RunLimit, Times: timeScale(s.o.TimeScale).master(), Token: s.token, Protected: ownPorts(s.o.Listener.Addr(), s.addresses)})
	if err != nil {
		return err
	}
	close(created)
	return nil
}

// openBus starts the NATS server of this process and sets s.bus and s.addresses. Until created
// is closed, it refuses agents after one second. The store must be open.
func (s *Server) openBus(created <-chan struct{}) (err error) {
	s.bus, err = bus.Serve(s.ctx, bus.ServerOptions{Times: timeScale(s.o.TimeScale).bus(), Dir: filepath.Join(s.dir, "bus"), Listen: s.o.AgentAddr, Advertise: s.o.Advertise, Invited: s.invited, Log: s.log,
		Authorize: func(key string) (string, bool) {
			select {
			case <-created:
				return s.master.AgentOf(key)
			case <-time.After(time.Second):
				return "", false // the agent tries again
			}
		},
		OnViolation: func(who, subject string) {
			s.master.Flag(who, subject)
			s.audit("agent.violation", who, subject)
		},
		OnRefused: func(who, address string) { s.audit("agent.connect", who, address) }})
	if err == nil {
		s.addresses = s.bus.Addresses()
	}
	return err
}

// secret returns the master's secret of this name. At the first start make creates it, and it
// is stored. The value must not be used after an error. The store must be open.
func (s *Server) secret(name string, make func() ([]byte, error)) ([]byte, error) {
	value, err := s.store.Setting(s.ctx, name)
	if err != nil || value != nil {
		return value, err
	}
	if value, err = make(); err != nil {
		return nil, err
	}
	return value, s.store.PutSetting(s.ctx, name, value)
}

// audit writes to the audit log what an agent was denied. who is the agent or, for a refused
// connection, its key or token. It blocks for 10 s at most and logs an error.
func (s *Server) audit(action, who, detail string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	e := &auth.Entry{Time: time.Now().UTC(), User: who, Action: action, Object: who, Detail: detail, Result: "denied"}
	if err := s.store.Audit(ctx, e); err != nil {
		s.log.Error("audit", "action", action, "who", who, "error", err)
	}
}

// token returns the text of a join token, with the addresses of the bus. The error is always
// nil.
func (s *Server) token(id, secret string) (string, error) {
	t := bus.Token{Addresses: s.addresses, CA: s.o.CA, ID: id, Secret: secret}
	if s.bus != nil {
		t.Pin = s.bus.Pin()
	}
	return t.String(), nil
}

// invited reports whether a join token is valid: stored, with this hash, neither spent nor
// expired. It returns false also if the store can't be read within 10 s.
func (s *Server) invited(id string, hash []byte) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	t, err := s.store.JoinToken(ctx, id)
	return err == nil && subtle.ConstantTimeCompare(t.Hash, hash) == 1 && t.Spent.IsZero() && time.Now().Before(t.Expires)
}
