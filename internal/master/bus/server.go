package bus

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// ServerOptions are what the embedded server is started with.
type ServerOptions struct {
	Dir       string   // its own: deliveries and the certificate authority; made, 0700
	Listen    string   // host:port; empty: 127.0.0.1:0. All interfaces only if it says 0.0.0.0 or [::]
	Advertise []string // host:port that join tokens name; none: what it listens on
	Space     int64    // bytes that deliveries may take on the disk; 0: 1 GiB

	// Authorize gives the agent that a public nkey belongs to, if it may connect. It is
	// asked at each connection and should answer at once.
	Authorize func(key string) (agent string, ok bool)
	// Invited tells whether a join token is open: HashSecret of its secret is what the
	// master keeps, and it is neither spent nor too old.
	Invited func(id string, hash []byte) bool
	// OnViolation hears of an agent that did what it may not: for each subject once a
	// minute. who is the agent's id, or "join " and the id of a join token.
	OnViolation func(who, subject string)
	// OnRefused hears of a connection that was refused: who is the public nkey or "join " and
	// the id of the token that was shown. The same who is named once a minute. Of both
	// together, 200 a minute are told.
	OnRefused func(who, address string)

	Log *slog.Logger

	Times Times // of which the server uses Ping and Connect

	maxPending int64 // bytes that may wait for one client; 0: 64 MiB; tests set less
}

// Server is a NATS server within this process.
type Server struct {
	ns        *server.Server
	admit     *admission
	log       *serverLog
	addresses []string
	pin       [32]byte
	space     int64
	times     Times
	stop      func() bool
	once      sync.Once
}

// Serve starts a server, which ends with ctx or by Close.
func Serve(ctx context.Context, o ServerOptions) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Space == 0 {
		o.Space = 1 << 30
	}
	host, port, err := listenAt(o.Listen)
	if err != nil {
		return nil, err
	}
	for _, a := range o.Advertise {
		if err := checkAddress(a); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chmod(o.Dir, 0o700); err != nil {
		return nil, err
	}
	ca, err := openAuthority(o.Dir)
	if err != nil {
		return nil, err
	}
	tlsConfig, err := ca.server()
	if err != nil {
		return nil, err
	}
	// A taken port is told here, in words: the server would end the process over it.
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("bus: %w", err)
	}
	port = l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return nil, err
	}

	s := &Server{pin: ca.pin(), space: o.Space, times: o.Times.withDefaults()}
	s.admit = &admission{authorize: o.Authorize, invited: o.Invited, secret: rand.Text()}
	s.log = newServerLog(o.Log, s.admit, o.OnViolation, o.OnRefused)
	s.admit.refused = s.log.refused
	s.ns, err = server.NewServer(&server.Options{
		ServerName: "gobench", Host: host, Port: port,
		NoSigs: true, NoSystemAccount: true, DisableJetStreamBanner: true,
		TLSConfig: tlsConfig, TLSHandshakeFirst: true, TLSTimeout: 10, AuthTimeout: 10,
		AlwaysEnableNonce: true, CustomClientAuthentication: s.admit,
		MaxPayload: maxPayload, PingInterval: s.times.Ping, MaxPingsOut: pings, WriteDeadline: s.times.Connect,
		MaxPending: cmp.Or(o.maxPending, 64<<20), MaxSubs: 256, MaxControlLine: 1024,
		// Not SyncAlways: what a power cut takes of the stream, agents have in their spools
		// until it is committed, and send again. A message would wait for the disk of each
		// before it, which bounds all agents together to some hundred batches a second.
		JetStream: true, StoreDir: filepath.Join(o.Dir, "jetstream"),
		JetStreamMaxMemory: registrySpace * 2, JetStreamMaxStore: o.Space + o.Space/8,
	})
	if err != nil {
		s.log.close()
		return nil, fmt.Errorf("bus: %w", err)
	}
	s.ns.SetLoggerV2(s.log, false, false, false)
	s.ns.Start()
	if !s.ns.ReadyForConnections(20 * time.Second) {
		err := s.log.fatal()
		s.shutdown()
		if err == nil {
			err = errors.New("it is not ready after 20 s")
		}
		return nil, fmt.Errorf("bus: %w", err)
	}
	s.addresses = o.Advertise
	if len(s.addresses) == 0 {
		s.addresses = reachable(s.ns.Addr().(*net.TCPAddr))
	}
	s.stop = context.AfterFunc(ctx, s.shutdown)
	return s, nil
}

// listenAt reads where to listen. Without a host it is not guessed that all interfaces are
// meant.
func listenAt(addr string) (host string, port int, err error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	host, p, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, fmt.Errorf("bus: listen at %q: want HOST:PORT: %w", addr, err)
	}
	if host == "" {
		return "", 0, fmt.Errorf("bus: listen at %q: name the address; 0.0.0.0%s is all interfaces", addr, addr)
	}
	n, err := strconv.ParseUint(p, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("bus: listen at %q: %q is no port", addr, p)
	}
	return host, int(n), nil
}

// reachable gives where others reach a server that listens at a: with all interfaces, each
// of this host's addresses but those of the link.
func reachable(a *net.TCPAddr) []string {
	port := strconv.Itoa(a.Port)
	if !a.IP.IsUnspecified() {
		return []string{net.JoinHostPort(a.IP.String(), port)}
	}
	var found []string
	all, _ := net.InterfaceAddrs() // none: the loopback remains
	for _, i := range all {
		if n, ok := i.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			found = append(found, net.JoinHostPort(n.IP.String(), port))
		}
	}
	return append(found, net.JoinHostPort("127.0.0.1", port))
}

// Addresses gives where agents connect to, host:port.
func (s *Server) Addresses() []string { return s.addresses }

// Pin is what agents know the server by.
func (s *Server) Pin() [32]byte { return s.pin }

// Kick cuts the connections of an agent, or of "join " and a token's id. Whether it may
// come back is asked of Authorize.
func (s *Server) Kick(agent string) {
	for _, id := range s.admit.connections(agent) {
		_ = s.ns.DisconnectClientByID(id) // it may have gone by itself
	}
}

// Close ends the server and waits for that. What it has stored stays.
func (s *Server) Close() error {
	s.stop()
	s.shutdown()
	return nil
}

func (s *Server) shutdown() {
	s.once.Do(func() {
		s.ns.Shutdown()
		s.ns.WaitForShutdown()
		s.log.close()
	})
	s.ns.WaitForShutdown()
}
