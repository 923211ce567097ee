package master

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gobench-io/gobench/internal/run"
)

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
