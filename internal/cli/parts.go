package cli

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/agent"
	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/master"
	"github.com/gobench-io/gobench/internal/master/bus"
	"github.com/gobench-io/gobench/internal/master/store"
	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/run/version"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// parts are what a master is made of.
type parts struct {
	dir       string
	store     *store.Store
	bus       *bus.Server // nil: a NATS cluster
	conn      *bus.MasterConn
	master    *master.Master
	addresses []string // that agents connect to
	ca        []byte   // who signed the certificates there, of a NATS cluster
	agent     func(context.Context) error
	compiler  *compiler
	log       *slog.Logger
}

func (p *parts) close() error {
	var errs []error
	if p.conn != nil {
		p.conn.Close()
	}
	if p.bus != nil {
		errs = append(errs, p.bus.Close())
	}
	if p.store != nil {
		errs = append(errs, p.store.Close())
	}
	return errors.Join(errs...)
}

// database is the file of a master whose data is here.
func (a *app) database() string {
	path := filepath.Join(a.dataDir(), "master", "gobench.db")
	if full, err := filepath.Abs(path); err == nil {
		return full // a URI of SQLite has no other
	}
	return path
}

// parts makes the parts of a master, whose API is at own, and joins them.
func (a *app) parts(ctx context.Context, f *serveFlags, own net.Addr, log *slog.Logger) (_ *parts, err error) {
	p := &parts{dir: filepath.Join(a.dataDir(), "master"), log: log}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return nil, &exitError{exitFailed, fmt.Errorf("make the master's folder: %w", err), dataStorage.hint(err)}
	}
	o := store.Options{Dir: filepath.Join(p.dir, "copies"), Fold: merge.Fold, Log: log, Keep: store.Keep{Runs: f.keepRuns, Age: f.keepFor}}
	if f.db != "" {
		o.DSN = f.db
	} else {
		o.Path = a.database()
	}
	if p.store, err = store.Open(ctx, o); err != nil {
		return nil, f.storeError(err)
	}
	seed, err := p.secret(ctx, "signing key", bus.NewSeed)
	if err != nil {
		return nil, err
	}
	id, err := p.secret(ctx, "cluster", func() ([]byte, error) { return []byte(strings.ToLower(rand.Text())), nil })
	if err != nil {
		return nil, err
	}
	made := make(chan struct{}) // closed when there is a master: agents that know it connect before
	authorize := func(key string) (string, bool) {
		select {
		case <-made:
			return p.master.AgentOf(key)
		case <-time.After(time.Second):
			return "", false // it tries again
		}
	}
	if f.nats == "" {
		if p.bus, err = bus.Serve(ctx, bus.ServerOptions{Times: bus.DefaultTimes().Scale(f.scale), Dir: filepath.Join(p.dir, "bus"), Listen: f.agentAddr, Advertise: f.advertise,
			Authorize: authorize, Invited: p.invited, Log: log,
			OnViolation: func(who, subject string) {
				p.master.Flag(who, subject)
				p.audit("agent.violation", who, subject, "denied")
			},
			OnRefused: func(who, address string) { p.audit("agent.connect", who, address, "denied") }}); err != nil {
			return nil, listenError("--agent-addr", f.agentAddr, err)
		}
		p.addresses = p.bus.Addresses()
	} else {
		if p.addresses, p.ca, err = f.natsServers(); err != nil {
			return nil, err
		}
	}
	with := bus.MasterOptions{Server: p.bus, URL: strings.Join(p.addresses, ","), Creds: f.creds, CA: p.ca, Seed: seed, Log: log, Times: bus.DefaultTimes().Scale(f.scale)}
	if p.conn, err = bus.Master(ctx, with); err != nil {
		return nil, f.natsError(err)
	}
	if p.compiler, err = newCompiler(f.cache, p.dir, f.compile, log); err != nil {
		return nil, err
	}
	p.master, err = master.New(master.Options{Store: p.store, Bus: p.conn, Compiler: p.compiler, Dir: p.dir, Logger: log, Key: p.conn.PublicKey(), Cluster: string(id),
		RunLimit: f.runLimit, Times: masterTimes(f.scale), Token: p.token, Protected: ownPorts(own, p.addresses)})
	if err != nil {
		return nil, err
	}
	close(made)
	if !f.noAgent {
		p.agent = func(ctx context.Context) error { return a.ownAgent(ctx, p, f, log) }
	}
	return p, nil
}

// secret gives a value of the master's own, which is made at its first start.
func (p *parts) secret(ctx context.Context, name string, make func() ([]byte, error)) ([]byte, error) {
	value, err := p.store.Setting(ctx, name)
	if err != nil || value != nil {
		return value, err
	}
	if value, err = make(); err != nil {
		return nil, err
	}
	return value, p.store.PutSetting(ctx, name, value)
}

// audit notes what an agent did, or tried.
func (p *parts) audit(action, who, detail, result string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	e := &auth.Entry{Time: time.Now().UTC(), User: who, Action: action, Object: who, Detail: detail, Result: result}
	if err := p.store.Audit(ctx, e); err != nil {
		p.log.Error("audit", "action", action, "who", who, "error", err)
	}
}

// token is the text of a join token.
func (p *parts) token(id, secret string) (string, error) {
	t := bus.Token{Addresses: p.addresses, CA: p.ca, ID: id, Secret: secret}
	if p.bus != nil {
		t.Pin = p.bus.Pin()
	}
	return t.String(), nil
}

// invited tells whether a join token is open.
func (p *parts) invited(id string, hash []byte) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	t, err := p.store.JoinToken(ctx, id)
	return err == nil && subtle.ConstantTimeCompare(t.Hash, hash) == 1 && t.Spent.IsZero() && time.Now().Before(t.Expires)
}

// ownAgent is the agent in the master's process. It joins as all do, and so has no rights
// that others have not; it finds the master where that is now. With a master whose data
// was lost it joins anew.
func (a *app) ownAgent(ctx context.Context, p *parts, f *serveFlags, log *slog.Logger) error {
	dir := filepath.Join(a.dataDir(), "agent")
	who, err := bus.ReadIdentity(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && who.MasterKey != p.conn.PublicKey() {
		var token string
		if _, token, err = p.master.JoinToken(ctx, time.Minute, "master"); err == nil {
			err = joinAs(ctx, dir, token, agentFlags{creds: f.creds}, log)
		}
	}
	if err != nil {
		return err
	}
	if who, err = bus.ReadIdentity(dir); err != nil {
		return err
	}
	who.Addresses, who.CA = p.addresses, p.ca
	if who.Creds, err = absolute(f.creds); err != nil {
		return err
	}
	return runAgent(ctx, dir, who, agentFlags{ledger: f.ledger, scale: f.scale}, log)
}

// joinAs joins with a token and keeps who this agent is by then.
func joinAs(ctx context.Context, dir, token string, f agentFlags, log *slog.Logger) error {
	hello := &agentpb.Hello{Name: f.called(), Version: version.Version, Protocol: agentpb.Protocol, Minor: agentpb.Minor}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	creds, err := absolute(f.creds)
	if err != nil {
		return err
	}
	_, err = bus.Join(ctx, token, bus.JoinOptions{Dir: dir, Creds: creds, Hello: hello, Log: log})
	return err
}

// runAgent is an agent that has joined, until ctx ends.
func runAgent(ctx context.Context, dir string, who bus.Identity, f agentFlags, log *slog.Logger) error {
	conn, err := bus.Dial(who, bus.AgentOptions{Log: log, Times: bus.DefaultTimes().Scale(f.scale)})
	if err != nil {
		return fmt.Errorf("connect to the master: %w", err)
	}
	defer conn.Close()
	return agent.New(agent.Options{Dir: dir, Work: f.work, Bus: conn, ID: who.Agent, Hello: &agentpb.Hello{Name: f.called(), Address: addressTo(who.Addresses)}, Log: log,
		Same: f.same, Memory: f.memory << 20, Ledgers: f.ledger, Times: agentTimes(f.scale)}).Run(ctx)
}

// addressTo gives this host's own address on the way to one of some HOST:PORTs, or URLs of
// a NATS cluster; empty: none is known. Nothing is sent.
func addressTo(all []string) string {
	for _, a := range all {
		if _, host, ok := strings.Cut(a, "://"); ok {
			a = host
		}
		if c, err := net.Dial("udp", a); err == nil {
			defer c.Close()
			if own, ok := c.LocalAddr().(*net.UDPAddr); ok {
				return own.IP.String()
			}
		}
	}
	return ""
}
