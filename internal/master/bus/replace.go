package bus

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// watchStream checks at intervals of Times.Leader whether the embedded server can store
// deliveries, until ctx ends. JetStream stores nothing in a stream after one write has failed,
// as on a full disk, also when later ones would succeed: the stream is replaced once they do.
//
// What the old stream contained is lost with it. Agents send it again, as they do with all
// that the master has not confirmed by Committed.
func (m *MasterConn) watchStream(ctx context.Context) {
	for pause(ctx, m.times.Leader) == nil {
		failed := m.server.writeError()
		if failed == "" {
			continue
		}
		m.log.Warn("the bus can't store deliveries; it continues when it can write to its disk", "error", failed)
		c := streamOf(m.server.space, 1)
		for err := m.replace(ctx, &c); err != nil; err = m.replace(ctx, &c) {
			if text := err.Error(); text != failed {
				m.log.Warn("the bus can't store deliveries yet", "error", err)
				failed = text
			}
			if pause(ctx, m.times.Leader) != nil {
				return
			}
		}
		m.log.Info("the bus stores deliveries again: agents send again what the master has not confirmed")
	}
}

// replace deletes the stream of deliveries and creates it with the configuration c, in one
// attempt. Its sequence numbers continue, for which replace sets c.FirstSeq. If the disk can't
// be written to, it returns an error and changes nothing. After another error the stream may
// be missing, and the next attempt, with the same c, creates it.
func (m *MasterConn) replace(ctx context.Context, c *jetstream.StreamConfig) error {
	if err := m.server.probe(); err != nil {
		return err
	}
	ctx, cancel := m.attempt(ctx, m.times.Store)
	defer cancel()
	s, err := m.js.Stream(ctx, deliveries)
	if err == nil {
		// A late acknowledgement of an old delivery must not match a new one.
		c.FirstSeq = s.CachedInfo().State.LastSeq + 1
		err = m.js.DeleteStream(ctx, deliveries)
	}
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	_, err = m.js.CreateStream(ctx, *c)
	return err
}

// writeError returns the error after which the stream of deliveries stores nothing more; ""
// while it stores, or is missing.
func (s *Server) writeError() string {
	h := s.ns.Healthz(&server.HealthzOptions{Account: server.DEFAULT_GLOBAL_ACCOUNT, Stream: deliveries, Details: true})
	for _, e := range h.Errors {
		if e.Type == server.HealthzErrorStream && strings.Contains(e.Error, " write error: ") {
			return e.Error
		}
	}
	return ""
}

// probe returns an error if the server's disk does not take 4 MiB, a few of the largest
// deliveries. It deletes what it has written.
func (s *Server) probe() error {
	path := filepath.Join(s.dir, "probe")
	defer os.Remove(path)
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4<<20))
	return errors.Join(err, f.Sync(), f.Close())
}
