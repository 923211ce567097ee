package http

import (
	"context"
	"crypto/tls"
	"time"

	"github.com/gobench-io/gobench/internal/load/conn"
)

// quickest is the shortest time that a failed connect takes, so that users who retry in a loop
// do not use up this host's CPU.
const quickest = time.Millisecond

// dial opens a connection to q's target, with TLS if that is secure, within ConnectTimeout and
// q's time limit, and counts it. The caller must hold a place for it; on an error dial has
// released the place. A failed connect (not a failed handshake) takes at least 1 ms, unless
// ctx ends. The error is that of connect or handshake, or that of ended if the client ends
// meanwhile. The caller owns the link.
func (c *client) dial(ctx context.Context, q *call) (*link, error) {
	began := conn.Now()
	q.peer, q.link = nil, nil
	limit := min(c.settings.ConnectTimeout, q.start+c.settings.Timeout-began)
	cn, took, err := c.settings.connect(ctx, q.target, limit)
	if err != nil {
		c.leave()
		pause(ctx, began+quickest-conn.Now())
		return nil, err
	}
	l := &link{Conn: cn, target: q.target}
	if !c.add(l) {
		l.Drop()
		c.leave()
		return nil, c.ended()
	}
	m := &c.family.meters
	m.connect.Record(int64(took.Connect))
	if took.Lookup > 0 {
		m.lookup.Record(int64(took.Lookup))
	}
	l.peer = c.family.peer(c.recorder, cn.Peer().String())
	l.peer.connected()
	q.peer = l.peer
	if q.look != nil {
		q.look.connected(took)
	}
	if q.target.secure {
		if err := c.handshake(ctx, q, l, began, limit); err != nil {
			c.drop(l)
			return nil, err
		}
	}
	q.linkedNow()
	return l, nil
}

// handshake does the TLS handshake on l, within limit from began and within TLSTimeout, and
// counts it if it succeeds. On an error the caller drops l. When ctx ends it is ctx's, or of
// the class Timeout; it is errNoHTTP2, or of the class Protocol, if the server chooses another
// protocol.
func (c *client) handshake(ctx context.Context, q *call, l *link, began, limit time.Duration) error {
	start := conn.Now()
	if own := c.settings.TLSTimeout; own > 0 && start+own < began+limit {
		began, limit = start, own
	}
	config, err := c.tlsConfig(q.target)
	if err != nil {
		return err
	}
	l.Arm(began, limit)
	if q.foreign {
		if err := l.Begin(ctx); err != nil {
			return err
		}
	}
	err = l.Handshake(config)
	if q.foreign && !l.End() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return c.settings.refusal(err)
	}
	m := &c.family.meters
	shaken := conn.Now() - start
	m.tls.Record(int64(shaken))
	if q.look != nil {
		q.look.took("TLS", shaken)
	}
	m.handshakes.Add(1)
	state := l.TLS()
	if state.DidResume {
		m.resumed.Add(1)
	}
	return c.settings.agreed(state.NegotiatedProtocol)
}

// tlsConfig returns a new configuration for handshakes with t. A client resumes only its own
// sessions, since other clients are other users, and none with NoResumption. The error is one
// of opening KeyLogFile, which newNetwork has opened already.
func (c *client) tlsConfig(t *target) (*tls.Config, error) {
	c.mu.Lock()
	x := c.more()
	if x.sessions == nil && !c.settings.NoResumption {
		x.sessions = tls.NewLRUClientSessionCache(0)
	}
	sessions := x.sessions
	c.mu.Unlock()
	return c.settings.tls.Config(t.name, c.settings.protocols, sessions)
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// add registers a new connection and counts it as open. It returns false, and the caller drops
// l, if the client has ended. The first connection starts the watch of the client's ctx.
func (c *client) add(l *link) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	if c.stop == nil {
		c.stop = context.AfterFunc(c.ctx, func() { c.close(true) })
	}
	if l.next = c.all; c.all != nil {
		c.all.prev = l
	}
	c.all = l
	c.family.meters.opened.Add(1)
	c.family.meters.open.Add(1)
	return true
}

// forget removes a connection from the list of all, and no longer counts it as open. It must
// be called only once for each, and does not close it. After the last one of a closed client
// it ends the watch of the client's ctx. The caller must hold mu.
func (c *client) forget(l *link) {
	if l.prev == nil {
		c.all = l.next
	} else {
		l.prev.next = l.next
	}
	if l.next != nil {
		l.next.prev = l.prev
	}
	c.family.meters.open.Add(-1)
	if c.closed && c.all == nil {
		c.stop()
	}
}
