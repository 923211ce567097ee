package master

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/master/split"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
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

// Shares are proportional to what the split says, add up to the whole, and an agent that does not
// know what its share is to be proportional to is named.
func TestSplits(t *testing.T) {
	t.Parallel()
	var members []member
	for i, h := range []*agentpb.Hello{{Cpus: 8, Memory: 64 << 30, LinkMbits: 25_000}, {Cpus: 4, Memory: 16 << 30, LinkMbits: 10_000}, {Cpus: 4, Memory: 15<<30 + 1, LinkMbits: 10_000}} {
		members = append(members, member{Agent: run.Agent{ID: fmt.Sprint("a", i), Name: fmt.Sprint("web-", i)}, beat: &agentpb.Beat{Hello: h}})
	}
	for _, tt := range []struct {
		split   run.Split
		weights map[string]int
		users   []int64 // of 1,000
	}{
		{"", nil, []int64{334, 333, 333}},
		{run.SplitEven, nil, []int64{334, 333, 333}},
		{run.SplitCPUs, nil, []int64{500, 250, 250}},
		{run.SplitMemory, nil, []int64{673, 169, 158}},
		{run.SplitLink, nil, []int64{556, 222, 222}},
		{"", map[string]int{"web-0": 2, "a1": 7}, []int64{200, 700, 100}},
	} {
		a := &active{order: &run.Order{Options: run.Options{Split: tt.split, Weights: tt.weights}}}
		if err := weighable(tt.split, members); err != nil {
			t.Errorf("%s: %v", tt.split, err)
		}
		var places []split.Place
		for _, w := range members {
			places = append(places, split.Place{Agent: w.ID, Weight: a.weight(&place{member: w})})
		}
		plan, err := split.New(&wire.Hello{Classes: []*wire.Class{{Name: "user", Nu: 1000, Rate: 100}}}, places, &wire.Start{})
		if err != nil {
			t.Fatal(err)
		}
		sum, rate := int64(0), 0.0
		for i, e := range plan.Executors() {
			share := e.Start.Shares[0]
			sum, rate = sum+share.Nu, rate+share.Rate
			if d := share.Nu - tt.users[i]; d < -1 || d > 1 {
				t.Errorf("%s %v: agent %d has %d users, want %d", tt.split, tt.weights, i, share.Nu, tt.users[i])
			}
		}
		if sum != 1000 || math.Abs(rate-100) > 1e-9 {
			t.Errorf("%s: %d users and %v started a second in all", tt.split, sum, rate)
		}
	}
	members[1].beat.Hello.LinkMbits = 0
	if err := weighable(run.SplitLink, members); err == nil || !strings.Contains(err.Error(), "agent web-1 does not know the speed of the network device") || !strings.Contains(err.Error(), "--weight") {
		t.Errorf("a link of unknown speed: %v", err)
	}
}
