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

// ServerOptions are the options of the embedded server. Dir is required.
type ServerOptions struct {
	Dir       string   // for deliveries and the certificate authority; created with mode 0700
	Listen    string   // HOST:PORT; empty: 127.0.0.1:0. All interfaces only with 0.0.0.0 or [::]
	Advertise []string // HOST:PORT in join tokens; nil: the addresses it listens on

	// Authorize returns the id of the agent with a public nkey, if it may connect. It is called
	// for each connection, concurrently, and should return quickly. nil: no agent may.
	Authorize func(key string) (agent string, ok bool)
	// Invited reports whether a join token is valid: hash is HashSecret of its secret, and it
	// is neither spent nor expired. It is called concurrently. nil: no token is valid.
	Invited func(id string, hash []byte) bool
	// OnViolation is called when an agent violates its permissions, once a minute for each who
	// and subject. who is the agent's id, or "join " and the id of a join token. It and
	// OnRefused are called one at a time, each later than the event, and may be nil.
	OnViolation func(who, subject string)
	// OnRefused is called when a connection is refused, once a minute for each who: the
	// public nkey, "join " and the id of the token, or a few words if it has sent neither.
	// OnViolation and OnRefused together are called 200 times a minute at most.
	OnRefused func(who, address string)

	Log *slog.Logger // nil: nothing is logged

	Times Times // the server uses Ping and Connect

	space      int64 // maximum size of stored deliveries, in bytes; 0: defaultSpace
	maxPending int64 // bytes that may be pending for one client; 0: 64 MiB
}

// Server is a NATS server in this process. Its methods are safe for concurrent use.
type Server struct {
	ns        *server.Server
	dir       string
	admit     *admission
	log       *serverLog
	addresses []string
	pin       [32]byte
	space     int64
	times     Times
	stop      func() bool
	once      sync.Once
}

// Serve starts a server and returns once it accepts connections, within 20 s. It runs until
// ctx ends or Close is called. Call Close also after the end of ctx, to wait for the server's
// end. It is an error if an address is not valid, if the port is in use, or if the certificate
// authority in o.Dir is damaged; no server runs then.
func Serve(ctx context.Context, o ServerOptions) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.space == 0 {
		o.space = defaultSpace
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
	if port, err = freePort(host, port); err != nil {
		return nil, fmt.Errorf("bus: %w", err)
	}
	s := &Server{dir: o.Dir, pin: ca.pin(), space: o.space, times: o.Times.withDefaults()}
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
		// Not SyncAlways: agents store deliveries until they are acknowledged, and send again
		// what a power failure takes from the stream. With it, each message would wait for the
		// disk, which limits all agents together to some hundred batches a second.
		JetStream: true, StoreDir: filepath.Join(o.Dir, "jetstream"),
		JetStreamMaxMemory: registrySpace * 2, JetStreamMaxStore: o.space + o.space/8,
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

// freePort returns port, or any free port for 0. It is an error if the port is in use, as the
// server would end the process then. Another process may take the port before the server does.
func freePort(host string, port int) (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// listenAt parses the address to listen on; "" is a free port of 127.0.0.1. It is an error if
// the host is missing: all interfaces must be asked for explicitly.
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

// reachable returns the addresses, as HOST:PORT, at which agents reach a server that listens
// at a: that one, or for all interfaces (0.0.0.0, [::]) the host's IPv4 and IPv6 addresses
// except link-local ones, and 127.0.0.1 as the last. It does no I/O over the network; if the
// interfaces can't be listed, only 127.0.0.1 remains.
func reachable(a *net.TCPAddr) []string {
	port := strconv.Itoa(a.Port)
	if !a.IP.IsUnspecified() {
		return []string{net.JoinHostPort(a.IP.String(), port)}
	}
	var found []string
	all, _ := net.InterfaceAddrs() // after an error, only the loopback address
	for _, i := range all {
		if n, ok := i.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			found = append(found, net.JoinHostPort(n.IP.String(), port))
		}
	}
	return append(found, net.JoinHostPort("127.0.0.1", port))
}

// Addresses returns the addresses that agents connect to: ServerOptions.Advertise, or the
// addresses that the server listens on, as HOST:PORT.
func (s *Server) Addresses() []string { return s.addresses }

// Pin returns the digest by which agents recognize the server's certificate authority.
func (s *Server) Pin() [32]byte { return s.pin }

// Kick closes the connections of an agent, or of "join " and a token's id. If the client
// reconnects, Authorize is called again.
func (s *Server) Kick(agent string) {
	for _, id := range s.admit.connections(agent) {
		_ = s.ns.DisconnectClientByID(id) // fails if it has disconnected itself
	}
}

// Close stops the server and waits for its end. Stored data remains. It may be called twice
// and returns nil.
func (s *Server) Close() error {
	s.stop()
	s.shutdown()
	return nil
}

// shutdown stops the server, once. Each call waits for the server's end.
func (s *Server) shutdown() {
	s.once.Do(func() {
		s.ns.Shutdown()
		s.ns.WaitForShutdown()
		s.log.close()
	})
	s.ns.WaitForShutdown()
}
