package bus

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// Watch calls beat with each beat of an agent, and gone with an agent's id when its entry in
// the registry has expired: no beat for Times.Registry. It calls them one at a time until ctx
// ends, and then returns nil; it returns an error only if it can't subscribe.
//
// It subscribes to the subjects of the registry, so beats arrive at once and also while the
// registry has no leader. It reads the registry itself only at the beginning, for agents that
// have disconnected before. Time during which the bus was not available does not count.
func (m *MasterConn) Watch(ctx context.Context, beat func(*agentpb.Beat), gone func(agent string)) error {
	l, err := m.subscribe(beatSubject + "*")
	if err != nil {
		return err
	}
	heard := m.registered(ctx)
	defer l.end()
	lifetime := m.times.Registry
	tick := time.NewTicker(lifetime / 15)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case msg := <-l.in:
			agent := agentOf(msg.Subject, beatSubject)
			b := new(agentpb.Beat)
			if err := proto.Unmarshal(msg.Data, b); err != nil || agent == "" || b.Agent != agent {
				continue // not a beat, or not this agent's
			}
			heard[agent] = time.Now()
			beat(b)
		case <-tick.C:
			since, ok := m.availableSince()
			for agent, at := range heard {
				if ok && time.Since(at) > lifetime && time.Since(since) > lifetime {
					delete(heard, agent)
					gone(agent)
				}
			}
		}
	}
}

// registered returns the agents in the registry, by id, with the times of their last beats.
// After an error, which is logged, or after 5 s the map has what was read so far.
func (m *MasterConn) registered(ctx context.Context) map[string]time.Time {
	heard := map[string]time.Time{}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	kv, err := m.js.KeyValue(ctx, registry)
	if err != nil {
		m.log.Warn("the registry can't be read: agents are known once they beat", "error", err)
		return heard
	}
	w, err := kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		m.log.Warn("the registry can't be read: agents are known once they beat", "error", err)
		return heard
	}
	defer func() { _ = w.Stop() }()
	for {
		select {
		case e := <-w.Updates():
			if e == nil { // the end of the present entries
				return heard
			}
			if validID(e.Key()) {
				heard[e.Key()] = e.Created()
			}
		case <-ctx.Done():
			return heard
		}
	}
}
