package master

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// fleet is the set of all agents. Its methods lock mu, unless they say otherwise, and may be
// called concurrently. States do not change while the bus has no leader. No member is ever
// removed: a revoked one stays, as agentRevoked.
type fleet struct {
	m *Master

	mu      sync.Mutex
	members map[string]*member // by id
	changed chan struct{}      // closed and replaced when a state changes
	paused  time.Time          // since when the bus has no leader; zero while it has one
}

func newFleet(m *Master) *fleet {
	return &fleet{m: m, members: map[string]*member{}, changed: make(chan struct{})}
}

// load adds all agents of the store, as lost until they beat. If the store can't be read, it
// returns the error and adds none.
func (f *fleet) load(ctx context.Context) error {
	all, err := f.m.Store.Agents(ctx)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range all {
		f.put(a)
	}
	return nil
}

// put adds an agent as lost, or replaces the stored data of a known one, whose state stays.
// A revoked agent becomes agentRevoked. The caller must hold f.mu, also to use the member.
func (f *fleet) put(a run.Agent) *member {
	w := f.members[a.ID]
	if w == nil {
		w = &member{state: agentLost, why: "no beat has come since the master began"}
		f.members[a.ID] = w
	}
	w.Agent = a
	if !a.Revoked.IsZero() {
		w.state, w.why = agentRevoked, ""
	}
	return w
}

// beat stores a beat, which the caller must not change any more, and updates the agent's
// name and state. A repeated or older beat of the same process is ignored, and so is one of
// an unknown or revoked agent, which is logged.
func (f *fleet) beat(b *agentpb.Beat) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.members[b.Agent]
	if w == nil || w.state == agentRevoked {
		f.m.Logger.Warn("a beat of an agent that has not joined, or was revoked", "agent", b.Agent)
		return
	}
	if old := w.beat; old != nil && old.Boot == b.Boot && b.Count <= old.Count {
		return // a duplicate
	}
	w.twins(b)
	w.beat, w.heard = b, time.Now()
	if w.Name != b.Hello.GetName() && b.Hello.GetName() != "" {
		w.Name = b.Hello.Name
	}
	w.refused = ""
	if p := b.Hello.GetProtocol(); p != agentpb.Protocol {
		w.refused = fmt.Sprintf("gobench %s there speaks protocol %d, gobench here speaks %d: install the same version on both", b.Hello.GetVersion(), p, agentpb.Protocol)
	}
	f.judge(w, time.Now())
}

// gone updates the states of all members when an agent's registry entry has expired.
func (f *fleet) gone(string) { f.look() }

// judge updates a member's state and its reason as of now. If the state changes, it logs
// that, closes f.changed and wakes the queue. A revoked member stays revoked. The caller
// must hold f.mu.
func (f *fleet) judge(w *member, now time.Time) {
	state, why := agentReady, ""
	silent := now.Sub(w.heard)
	switch {
	case w.state == agentRevoked:
		return
	case w.refused != "":
		state, why = agentRefused, w.refused
	case w.twin != "" && now.Sub(w.twinAt) < f.m.Times.Lost:
		state, why = agentRefused, w.twin
	case w.beat == nil:
		state, why = agentLost, w.why
	case silent > f.m.Times.Lost:
		state, why = agentLost, fmt.Sprintf("no beat for %v", silent.Round(time.Second))
	case silent > f.m.Times.Suspect:
		state, why = agentSuspect, fmt.Sprintf("no beat for %v", silent.Round(time.Second))
	case w.beat.Run != "" && w.beat.Run != w.freed:
		state = agentBusy
	}
	if state != w.state {
		f.m.Logger.Info("agent", "agent", w.ID, "name", w.Name, "state", state, "was", w.state, "why", why)
		w.state = state
		close(f.changed)
		f.changed = make(chan struct{})
		f.m.wakeQueue()
	}
	w.why = why
}

// look updates the states of all members. While the bus is not available it changes nothing;
// that time does not count as silence afterwards.
func (f *fleet) look() {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.m.Bus.Available() {
		if f.paused.IsZero() {
			f.paused = now
		}
		return
	}
	if !f.paused.IsZero() { // no beats could arrive meanwhile
		for _, w := range f.members {
			w.heard = w.heard.Add(now.Sub(f.paused))
		}
		f.paused = time.Time{}
	}
	for _, w := range f.members {
		f.judge(w, now)
	}
}

// run loads the agents, then every 500 ms updates their states, measures the clocks that
// were not measured for 10 s, and ends what agents still execute of runs that are over. It
// returns nil when ctx ends, after its goroutines, and otherwise only an error of load.
func (f *fleet) run(ctx context.Context) error {
	if err := f.load(ctx); err != nil {
		return err
	}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	var probes sync.WaitGroup
	defer probes.Wait()
	for {
		f.look()
		for _, w := range f.snapshot() {
			if (w.state == agentReady || w.state == agentBusy) && time.Since(w.probed) > 10*time.Second {
				f.mark(w.ID)
				probes.Go(func() { f.probe(ctx, w.ID, 3) })
			}
			if w.state == agentBusy && !f.m.performs(w.beat.Run) && time.Since(w.cleared) > f.m.Times.Cancel {
				f.clearing(w.ID)
				probes.Go(func() { f.m.leftover(ctx, w.ID, w.beat.Run, w.beat.Epoch) })
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// free records that an agent has released a run, before its next beat reports it: an agent
// that was busy with this run becomes ready at once. An unknown id is ignored.
func (f *fleet) free(id, run string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w := f.members[id]; w != nil {
		w.freed = run
		f.judge(w, time.Now())
	}
}

// clearing records that leftover is called for a member. It panics if id is unknown.
func (f *fleet) clearing(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members[id].cleared = time.Now()
}

// awaitOver waits until an agent's last beat reports that run id is over or names another
// run, or none; at most for limit, or until ctx ends. It returns at once for an agent
// without a beat. The caller does not learn which of these it was.
func (f *fleet) awaitOver(ctx context.Context, agent, id string, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if w, _ := f.get(agent); w.beat == nil || w.beat.Run != id || w.beat.Phase == agentpb.PhaseOver {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// snapshot returns copies of all members, revoked ones included, sorted by name, then by id;
// never nil. The beats in them are shared and must not be changed.
func (f *fleet) snapshot() []member {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]member, 0, len(f.members))
	for _, w := range f.members {
		all = append(all, *w)
	}
	slices.SortFunc(all, func(a, b member) int {
		if a.Name != b.Name {
			return strings.Compare(a.Name, b.Name)
		}
		return strings.Compare(a.ID, b.ID)
	})
	return all
}

// get returns a copy of a member, whose beat is shared, and a channel that is closed when
// the state of any member changes. For an unknown id the copy is lost, without id, name and
// beat.
func (f *fleet) get(id string) (member, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w := f.members[id]; w != nil {
		return *w, f.changed
	}
	return member{state: agentLost, why: "unknown"}, f.changed
}

// ofKey returns the id of the agent with this public key. ok is false if it is not loaded or
// is revoked.
func (f *fleet) ofKey(key string) (id string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, w := range f.members {
		if w.Key == key && w.Revoked.IsZero() {
			return id, true
		}
	}
	return "", false
}

// Flag records the subject that the agent with this id tried to use and may not. Agents adds
// it to the agent's Why. Only the last one is stored, in memory, until the master ends. An
// unknown id is ignored.
func (m *Master) Flag(agent, what string) {
	m.fleet.mu.Lock()
	defer m.fleet.mu.Unlock()
	if w := m.fleet.members[agent]; w != nil {
		w.flag = what
	}
}

// name returns an agent's name, or its id if it has no name.
func (f *fleet) name(id string) string {
	if w, _ := f.get(id); w.Name != "" {
		return w.Name
	}
	return id
}
