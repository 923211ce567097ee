package http

import (
	"maps"
	"sync/atomic"

	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/metrics"
)

// peer counts the connections and requests to one remote address of a prefix.
type peer struct {
	connections, requests executor.Meter
}

const (
	maxPeers    = 16 // per prefix; more count together as "other"
	maxRunPeers = 64 // per run
	otherPeers  = "other"
)

// connected counts a connection. A nil peer counts nothing.
func (p *peer) connected() {
	if p != nil {
		p.connections.Add(1)
	}
}

// count counts a request. A nil peer counts nothing.
func (p *peer) count(e executor.Entry) {
	if p != nil {
		e.Add(p.requests, 1)
	}
}

// peersKey is the key of a run's number of peers in its shared values.
type peersKey struct{}

// peer returns the peer of an address ("10.0.0.1:80"), and declares its metrics at the first
// call. Addresses beyond the limits (maxPeers, maxRunPeers), and those that are not valid in a
// title, share one. It returns nil, which counts nothing, if that can't be declared. Any
// goroutine may call it.
func (f *family) peer(r *executor.Recorder, addr string) *peer {
	known := *f.peers.Load()
	if p, ok := known[addr]; ok {
		return p
	}
	if len(known) >= maxPeers {
		if p, ok := known[otherPeers]; ok {
			return p
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	known = *f.peers.Load()
	if p, ok := known[addr]; ok {
		return p
	}
	v, err := r.Shared(peersKey{}, func() (any, error) { return new(atomic.Int32), nil })
	if err != nil {
		return nil
	}
	run := v.(*atomic.Int32)
	var p *peer
	if len(known) < maxPeers && run.Load() < maxRunPeers {
		if p = f.declare(r, addr); p != nil {
			run.Add(1)
		}
	}
	r.Log(func() string { return f.prefix + ": first connection to " + addr })
	if p == nil { // over the limit, or not valid in a title
		addr = otherPeers
		if p, ok := known[addr]; ok {
			return p
		}
		p = f.declare(r, addr)
	}
	known = maps.Clone(known)
	known[addr] = p
	f.peers.Store(&known)
	return p
}

// declare declares a peer's metrics. It returns nil if that fails. The caller must hold f.mu.
func (f *family) declare(r *executor.Recorder, addr string) *peer {
	title, of := "peer."+addr, part(metrics.Detail, "peer", addr)
	p := &peer{}
	d := groupOf(f.prefix)
	d.graph("Peer "+addr, "N")
	d.metric(title+".connections", metrics.Counter, of, &p.connections)
	d.metric(title+".requests", metrics.Counter, of, &p.requests)
	if d.declare(r) != nil {
		return nil
	}
	return p
}
