package master

import (
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/run"
)

// A run whose agents go after it was taken from the queue fails because they are lost.
func TestAgentsGoBeforeTheRun(t *testing.T) {
	t.Parallel()
	for _, named := range [][]string{nil, {"one"}} {
		m := &Master{}
		m.fleet = newFleet(m)
		a := &active{m: m, order: &run.Order{Options: run.Options{Agents: named}}, result: &run.Result{}}
		if err := a.prepare(t.Context()); err == nil || a.result.Failure != run.FailedLost {
			t.Errorf("agents %v: %v, failure %q, want %q", named, err, a.result.Failure, run.FailedLost)
		}
	}
}

// Of two agents with one name, the lost one is not meant; if both are ready, neither is.
func TestChooseByName(t *testing.T) {
	t.Parallel()
	f := newFleet(&Master{})
	for id, state := range map[string]standing{"a1": agentLost, "a2": agentReady, "a3": agentRevoked} {
		f.members[id] = &member{Agent: run.Agent{ID: id, Name: "web"}, state: state}
	}
	if all, err := f.choose([]string{"web"}); err != nil || len(all) != 1 || all[0].ID != "a2" {
		t.Errorf("chosen %v, %v, want a2", all, err)
	}
	f.members["a1"].state = agentReady
	if _, err := f.choose([]string{"web"}); err == nil || !strings.Contains(err.Error(), "several agents") {
		t.Errorf("two with one name: %v", err)
	}
	if err := f.known(&run.Options{Agents: []string{"web"}}); err == nil || !strings.Contains(err.Error(), "several agents") {
		t.Errorf("known: %v", err)
	}
	if err := f.known(&run.Options{Agents: []string{"a3"}}); err == nil || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("known with a revoked one: %v", err)
	}
}
