package server

import (
	"context"
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
	"github.com/gobench-io/gobench/internal/master/bus"
	"github.com/gobench-io/gobench/internal/run/version"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// AgentOptions describe an agent's process. Dir and Log are required.
type AgentOptions struct {
	Dir      string // of the agent's data
	Name     string // in reports; empty: the host's name
	Creds    string // file of credentials for a NATS cluster; absolute
	Work     string // for the private folders of runs, made if it is missing; empty: the temporary folder
	SameUser bool   // run scenarios as this user, also as root
	Memory   int64  // most bytes that a run may use; 0: no limit
	Ledger   string // folder to which executors' own counts are written, for tests; empty: nowhere
	Log      *slog.Logger

	TimeScale float64 // factor of all timeouts and intervals of the cluster, for tests; 0: 1
}

// name returns the agent's name: o.Name or the host's; empty if that is unknown.
func (o *AgentOptions) name() string {
	if o.Name != "" {
		return o.Name
	}
	host, _ := os.Hostname() // without one the master reports what is missing
	return host
}

// Join joins the master that made the token, and stores this agent's identity in o.Dir,
// where bus.ReadIdentity finds it. It takes up to 10 s to connect for each address of the
// token, and then 30 s from the call at most. The error is a *bus.JoinError if the master
// refuses, and otherwise that of bus.Join.
func Join(ctx context.Context, token string, o AgentOptions) error {
	hello := &agentpb.Hello{Name: o.name(), Version: version.Version, Protocol: agentpb.Protocol, Minor: agentpb.Minor}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	_, err := bus.Join(ctx, token, bus.JoinOptions{Dir: o.Dir, Creds: o.Creds, Hello: hello, Log: o.Log})
	return err
}

// RunAgent runs the agent that has joined as who, until ctx ends or its connection fails for
// good, and returns after all that it has started has ended, and the connection is closed. For
// what it returns at the end of ctx, and what remains of a run, see agent.Agent.Run.
func RunAgent(ctx context.Context, who bus.Identity, o AgentOptions) error {
	if o.Work != "" {
		if err := os.MkdirAll(o.Work, 0o755); err != nil {
			return fmt.Errorf("make the folder for runs (--work): %w", err)
		}
	}
	conn, err := bus.Dial(who, bus.AgentOptions{Log: o.Log, Times: timeScale(o.TimeScale).bus()})
	if err != nil {
		return fmt.Errorf("connect to the master: %w", err)
	}
	defer conn.Close()
	return agent.New(agent.Options{Dir: o.Dir, Work: o.Work, Bus: conn, ID: who.Agent, Hello: &agentpb.Hello{Name: o.name(), Address: addressTo(who.Addresses)}, Log: o.Log,
		Same: o.SameUser, Memory: o.Memory, Ledgers: o.Ledger, Times: timeScale(o.TimeScale).agent()}).Run(ctx)
}

// ownAgent runs the agent in the master's process until ctx ends. It joins as all agents do,
// and has no rights that others lack; if the master's data was lost, it joins again. If ctx
// ends while it joins, it returns an error; later, what RunAgent does: nil, unless ctx has a
// cause. It returns an error at once if the identity can't be read or the join fails. The
// master must be serving.
func (s *Server) ownAgent(ctx context.Context) error {
	o := AgentOptions{Dir: filepath.Join(s.o.Dir, "agent"), Creds: s.o.Creds, Ledger: s.o.Ledger, TimeScale: s.o.TimeScale, Log: s.log}
	who, err := bus.ReadIdentity(o.Dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && who.MasterKey != s.conn.PublicKey() {
		var token string
		if _, token, err = s.master.JoinToken(ctx, time.Minute, "master"); err == nil {
			err = Join(ctx, token, o)
		}
	}
	if err != nil {
		return err
	}
	if who, err = bus.ReadIdentity(o.Dir); err != nil {
		return err
	}
	who.Addresses, who.CA, who.Creds = s.addresses, s.o.CA, s.o.Creds // where the master is now
	return RunAgent(ctx, who, o)
}

// addressTo returns the IP address of this host, without a port, that it would use to reach
// the first possible one of some HOST:PORTs, or URLs of a NATS cluster; empty if unknown.
// Nothing is sent to them; a host name is resolved.
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
