package master

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// standing is an agent's state, as agentpb.Member.State has it.
type standing string

const (
	agentReady   standing = "ready"
	agentBusy    standing = "busy"
	agentSuspect standing = "suspect" // its beats are late
	agentLost    standing = "lost"    // no beat for Times.Lost
	agentRefused standing = "refused" // it speaks another protocol
	agentRevoked standing = "revoked"
)

// member is an agent that has joined.
type member struct {
	run.Agent
	beat    *agentpb.Beat // the last, or nil before the first
	heard   time.Time     // when it was received, monotonic
	state   standing
	why     string
	offset  time.Duration // its wall clock less ours
	within  time.Duration // error of offset: half of the round trip
	probed  time.Time
	cleared time.Time     // when leftover was last called for it
	refused string        // why it may not run anything, or empty
	before  *agentpb.Beat // the last of its previous process
	twin    string        // a message that two processes use its identity, or empty
	twinAt  time.Time     // when that was last noticed
	flag    string        // its last violation of permissions, or empty
	freed   string        // the last run that it has released
}

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

// mark records that the clock of a member is being measured. It panics if id is unknown.
func (f *fleet) mark(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members[id].probed = time.Now()
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
		if w, _ := f.get(agent); w.beat == nil || w.beat.Run != id || w.beat.Phase == "over" {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// probe measures the offset of an agent's clock several times and stores the result of the
// shortest round trip (RFC 5905, section 8: offset and delay of four time stamps). It blocks
// for up to 2 s each time. If one of them fails or ctx ends, it stops, and the offset that
// was stored before stays.
func (f *fleet) probe(ctx context.Context, id string, times int) {
	var offset, within time.Duration
	found := false
	for range times {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		sent := time.Now()
		a, err := f.m.command(ctx, &agentpb.Command{Agent: id, What: &agentpb.Command_Ping{Ping: &agentpb.Ping{}}})
		got := time.Now()
		cancel()
		if err != nil {
			return
		}
		o, w := clockOffset(sent, got, a)
		if !found || w < within {
			offset, within, found = o, w, true
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.members[id]
	w.offset, w.within = offset, within
}

// clockOffset returns by how much an agent's wall clock is ahead of ours (negative: behind),
// and the error: half the round trip without the agent's own time. sent and got are when the
// request left and the answer arrived, both with a monotonic reading.
func clockOffset(sent, got time.Time, a *agentpb.Answer) (offset, within time.Duration) {
	there := max(time.Duration(a.SentNs-a.ReceivedNs), 0) // less where the clock was set meanwhile
	trip := max(got.Sub(sent)-there, 0)                   // got.Sub is monotonic
	begin := sent.UnixNano()
	offset = (time.Duration(a.ReceivedNs-begin) + time.Duration(a.SentNs-(begin+int64(got.Sub(sent))))) / 2
	return offset, trip / 2
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

// called returns a member's id, name and rank for run.FindAgent: a lost agent is meant only
// if no other has the name, a revoked one never.
func (w member) called() (id, name string, rank int) {
	switch w.state {
	case agentRevoked:
	case agentLost:
		rank = 1
	default:
		rank = 2
	}
	return w.ID, w.Name, rank
}

// known returns a *run.InputError for the first name or id in o.Agents or o.Weights of an
// agent that has never joined, is revoked, or shares its name: a run would wait for it
// without end. Agents that are merely disconnected are accepted.
func (f *fleet) known(o *run.Options) error {
	all := f.snapshot()
	check := func(field, name string) error {
		w, err := run.FindAgent(all, name, member.called)
		if err == nil && w.state == agentRevoked {
			err = fmt.Errorf("agent %q is revoked", name)
		}
		if err != nil {
			return &run.InputError{Field: "options." + field, Text: err.Error()}
		}
		return nil
	}
	for i, name := range o.Agents {
		if err := check(fmt.Sprintf("agents.%d", i), name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Weights)) {
		if err := check("weights", name); err != nil {
			return err
		}
	}
	return nil
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

// choose returns copies of the agents for a run: those named, by id or name, each once in
// this order; or, if named is empty, all that are ready, sorted by name, which may be none.
// It returns an error if one of those named is unknown or not ready.
func (f *fleet) choose(named []string) (chosen []member, err error) {
	all := f.snapshot()
	if len(named) == 0 {
		for _, w := range all {
			if w.state == agentReady {
				chosen = append(chosen, w)
			}
		}
		return chosen, nil
	}
	for _, name := range named {
		found, err := run.FindAgent(all, name, member.called)
		switch {
		case err != nil:
			return nil, err
		case found.state != agentReady:
			return nil, fmt.Errorf("agent %s is %s: %s", name, found.state, found.why)
		case !slices.ContainsFunc(chosen, func(w member) bool { return w.ID == found.ID }):
			chosen = append(chosen, found)
		}
	}
	return chosen, nil
}
