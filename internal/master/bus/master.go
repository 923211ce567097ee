package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// registrySpace is the maximum size of the registry in memory, in bytes: four times what a
// thousand agents with beats of 4 KB need.
const registrySpace = 16 << 20

// defaultSpace is the maximum size of stored deliveries, in bytes.
const defaultSpace = 1 << 30

// MasterOptions are the options of Master: Server, or those of a NATS cluster; and Seed.
type MasterOptions struct {
	Server *Server // embedded server; the fields of a NATS cluster are ignored then

	URL   string // of a NATS cluster's servers, separated by commas
	Creds string // file of credentials for it
	CA    []byte // authorities of its certificates, from ReadAuthorities; nil: the system's

	Seed []byte       // of the key that signs commands, from NewSeed; the caller stores it
	Log  *slog.Logger // nil: nothing is logged

	Times Times // zero: those of Server, or the defaults

	space int64 // maximum size of stored deliveries, in bytes; 0: that of Server, or defaultSpace
}

// MasterConn is the master's side of the bus. Its methods are safe for concurrent use. A
// lost connection is reconnected until Close.
type MasterConn struct {
	*conn
	server *Server // nil with a NATS cluster
	js     jetstream.JetStream
	key    nkeys.KeyPair
	public string
	asked  *questions
	leader atomic.Bool  // the streams have a leader
	ready  atomic.Int64 // Unix time since when the bus is available, in ns; 0 while it is not
	end    context.CancelFunc
	wg     sync.WaitGroup
}

// Master connects the master and creates the registry and the stream of deliveries, or updates
// their configuration. It tries each address once, for up to Times.Connect, and then waits for
// the streams for up to 60 s; ctx can end that wait, and not the connection. The error wraps
// one of ErrCredentials and the others of a NATS cluster if it applies. The caller must Close
// the connection, and a Server after it.
func Master(ctx context.Context, o MasterOptions) (*MasterConn, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	m := &MasterConn{server: o.Server, asked: newQuestions()}
	key, err := newSigningKey(o.Seed)
	if err == nil {
		m.key = key
		m.public, err = key.PublicKey()
	}
	if err != nil {
		return nil, fmt.Errorf("bus: the master's key: %w", err)
	}
	if o.Server != nil {
		o.space = o.Server.space
		if o.Times == (Times{}) {
			o.Times = o.Server.times
		}
		m.conn, err = connect("", "master", o.Log, o.Times, nats.InProcessServer(o.Server.ns), nats.UserInfo(masterUser, o.Server.admit.secret))
	} else {
		var more []nats.Option
		if o.Creds != "" {
			creds, err := credentials(o.Creds)
			if err != nil {
				return nil, fmt.Errorf("bus: %w", err)
			}
			more = append(more, creds)
		}
		m.conn, err = connect(o.URL, "master", o.Log, o.Times, append(more, secure([32]byte{}, o.CA)...)...)
	}
	if err != nil {
		return nil, fmt.Errorf("bus: connect: %w", reason(err))
	}
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	if err := m.prepare(ctx, o); err != nil {
		m.nc.Close()
		return nil, fmt.Errorf("bus: %w", reason(err))
	}
	answers, err := m.subscribe(answerTo + "*.*")
	if err != nil {
		m.nc.Close()
		return nil, err
	}
	m.leader.Store(true)
	m.ready.Store(time.Now().UnixNano())
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	m.end = end
	m.wg.Go(func() { m.watchLeader(life) })
	if m.server != nil {
		m.wg.Go(func() { m.watchStream(life) })
	}
	m.wg.Go(func() { answers.each(life, m.asked.answered) })
	return m, nil
}

// Close closes the connection and waits for its goroutines. Calls of other methods must have
// returned before.
func (m *MasterConn) Close() {
	m.end()
	m.wg.Wait()
	m.nc.Close()
}

// PublicKey returns the public key that verifies the master's commands.
func (m *MasterConn) PublicKey() string { return m.public }

// prepare creates or updates the registry and the stream of deliveries. It sets m.js. While
// the cluster has no leader it retries until ctx ends; then the error wraps ctx's. In a
// cluster it uses three replicas, or one if it has fewer than three servers. It is an error if
// the server is too old, if its messages are limited to less than maxPayload, or if JetStream
// or permissions refuse.
func (m *MasterConn) prepare(ctx context.Context, o MasterOptions) error {
	if err := checkVersion(m.nc.ConnectedServerVersion()); err != nil {
		return err
	}
	if most := m.nc.MaxPayload(); most < maxPayload {
		return fmt.Errorf("the NATS server takes messages of %d bytes and gobench sends up to %d: set its max_payload so", most, maxPayload)
	}
	var err error
	if m.js, err = jetstream.New(m.nc); err != nil {
		return err
	}
	if o.space == 0 {
		o.space = defaultSpace
	}
	replicas := 1
	if m.server == nil && m.nc.ConnectedClusterName() != "" {
		replicas = 3
	}
	for {
		err := m.create(ctx, replicas, o.space)
		var api *jetstream.APIError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &api) && tooFew[int(api.ErrorCode)] && replicas > 1:
			m.log.Warn("the NATS cluster has fewer than three servers: data there is stored once", "error", err)
			replicas = 1
		case errors.As(err, &api) && (api.Code != 503 || tooLittle[int(api.ErrorCode)]):
			return err
		case errors.Is(m.nc.LastError(), nats.ErrPermissionViolation):
			return m.nc.LastError()
		default: // no leader yet, or no answer
			if pause(ctx, m.times.Retry) != nil {
				return because(ctx, "prepare JetStream", err)
			}
		}
	}
}

// tooFew are JetStream's error codes for more replicas than servers.
var tooFew = map[int]bool{10005: true, 10074: true}

// create creates or updates the registry and the stream, in one attempt of 5 s at most; m.js
// must be set. space is the stream's limit in bytes.
func (m *MasterConn) create(ctx context.Context, replicas int, space int64) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := m.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: registry, Description: "gobench: agents that are there", Storage: jetstream.MemoryStorage, History: 1,
		TTL: m.times.Registry, LimitMarkerTTL: time.Minute, MaxBytes: registrySpace, MaxValueSize: 256 << 10, Replicas: replicas,
	}); err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	if _, err := m.js.CreateOrUpdateStream(ctx, streamOf(space, replicas)); err != nil {
		return fmt.Errorf("stream of deliveries: %w", err)
	}
	return nil
}

// streamOf returns the configuration of the stream of deliveries: when it contains space bytes
// it refuses new deliveries, which agents retry.
func streamOf(space int64, replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: deliveries, Description: "gobench: what agents send of their runs", Subjects: []string{deliverTo + "*"},
		Storage: jetstream.FileStorage, Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew,
		MaxBytes: space, Replicas: replicas, Duplicates: 2 * time.Minute,
	}
}

// checkVersion returns an error if a server's version is not MAJOR.MINOR.PATCH, or is older
// than 2.11, the first version with markers for expired entries of a bucket.
func checkVersion(version string) error {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) == 3 {
		major, err1 := strconv.Atoi(parts[0])
		minor, err2 := strconv.Atoi(parts[1])
		if err1 == nil && err2 == nil && (major > 2 || major == 2 && minor >= 11) {
			return nil
		}
	}
	return fmt.Errorf("the NATS server is of version %q: gobench needs 2.11 or a later one", version)
}

// watchLeader checks at intervals of Times.Leader whether the streams have a leader, until ctx
// ends, and updates leader and ready. An embedded server always has one.
func (m *MasterConn) watchLeader(ctx context.Context) {
	for pause(ctx, m.times.Leader) == nil {
		had := m.leader.Load()
		has := m.server != nil || m.led(ctx, deliveries) && m.led(ctx, "KV_"+registry)
		up, _ := m.state()
		if ctx.Err() != nil {
			return
		}
		if has && up && (!had || m.ready.Load() == 0) {
			m.ready.Store(time.Now().UnixNano())
		} else if !has || !up {
			m.ready.Store(0)
		}
		m.leader.Store(has)
		if had != has {
			m.log.Warn("the bus has a leader: "+strconv.FormatBool(has), "server", m.nc.ConnectedAddr())
		}
	}
}

// led reports whether a stream has a leader: only a leader answers, within 3 * Times.Leader.
func (m *MasterConn) led(ctx context.Context, stream string) bool {
	ctx, cancel := m.attempt(ctx, 3*m.times.Leader)
	defer cancel()
	s, err := m.js.Stream(ctx, stream)
	if err != nil {
		return false
	}
	c := s.CachedInfo().Cluster
	return c == nil || c.Leader != "" || len(c.Replicas) == 0
}

// Available reports whether the bus delivers messages: the master is connected and the
// streams have a leader.
func (m *MasterConn) Available() bool {
	up, _ := m.state()
	return up && m.leader.Load()
}

// availableSince returns since when Available is true, and whether it is; otherwise the time
// is zero.
func (m *MasterConn) availableSince() (time.Time, bool) {
	ns := m.ready.Load()
	_, since := m.state()
	if !m.Available() || ns == 0 {
		return time.Time{}, false
	}
	if t := time.Unix(0, ns); t.After(since) {
		return t, true
	}
	return since, true
}

// Join answers requests to join with what answer returns, one after the other, until ctx ends,
// and then returns nil; it returns an error only if it can't subscribe. answer must not return
// nil; Join adds the master's public key unless it is a refusal (Error). Requests with an
// invalid key or token id are refused without a call of answer.
func (m *MasterConn) Join(ctx context.Context, answer func(*agentpb.Join) *agentpb.Joined) error {
	return m.listen(ctx, joinSubject, func(q *nats.Msg) {
		var j agentpb.Join
		out := &agentpb.Joined{Code: "unknown", Error: "this is no request to join"}
		if err := proto.Unmarshal(q.Data, &j); err == nil && nkeys.IsValidPublicUserKey(j.Key) && validID(j.Token) {
			if out = answer(&j); out.Error == "" {
				out.MasterKey = m.public
			}
		}
		b, err := proto.Marshal(out)
		// Only to a subject that the holder of the token may subscribe to.
		if err == nil && strings.HasPrefix(q.Reply, joinInbox(j.Token)+".") {
			err = m.nc.Publish(q.Reply, b)
		}
		if err != nil {
			m.log.Error("an answer to a request to join was lost", "error", err)
		}
	})
}

// Committed notifies an agent of what is stored, which it need not send again. It does not
// wait: the message may be lost, and the next one includes it. The error is about sending.
func (m *MasterConn) Committed(_ context.Context, agent string, c *agentpb.Committed) error {
	if !validID(agent) {
		return fmt.Errorf("bus: %q is no agent", agent)
	}
	b, err := proto.Marshal(c)
	if err != nil {
		return err
	}
	out := nats.NewMsg(commandTo + agent + ".done")
	out.Data = b
	if err := sign(out, m.key); err != nil {
		return err
	}
	return m.nc.PublishMsg(out)
}

// Kick closes the connections of the agent with this id, if it has any. The agent is
// authorized again when it reconnects. In a NATS cluster only the operator can do that; then
// Kick only logs a warning.
func (m *MasterConn) Kick(agent string) {
	if m.server == nil {
		m.log.Warn("the NATS cluster's operator must take the agent's credentials back: the master can't cut its connection", "agent", agent)
		return
	}
	m.server.Kick(agent)
}
