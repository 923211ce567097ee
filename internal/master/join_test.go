package master

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// A join token lets one agent join, once, with the secret and while it is valid.
func TestJoin(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		_, text, err := r.JoinToken(context.Background(), 0, "admin")
		if err != nil {
			t.Fatal(err)
		}
		id, secret, _ := strings.Cut(text, " ")
		good := &agentpb.Join{Token: id, Secret: secret, Key: "U" + strings.Repeat("B", 55), Hello: &agentpb.Hello{Name: "new", Protocol: agentpb.Protocol}}
		old, _, err := r.JoinToken(context.Background(), time.Nanosecond, "admin")
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			name, code string
			change     func(*agentpb.Join)
		}{
			{"another protocol", "version", func(j *agentpb.Join) { j.Hello.Protocol = 99 }},
			{"no key", "unknown", func(j *agentpb.Join) { j.Key = "" }},
			{"an account's key", "unknown", func(j *agentpb.Join) { j.Key = "A" + j.Key[1:] }},
			{"another secret", "unknown", func(j *agentpb.Join) { j.Secret += "x" }},
			{"another token", "unknown", func(j *agentpb.Join) { j.Token = "jx" }},
			{"a token that has expired", "", func(j *agentpb.Join) { j.Token = old.ID }},
		} {
			j := proto.CloneOf(good)
			tt.change(j)
			if got := r.join(j); got.Error == "" || got.Agent != "" || tt.code != "" && got.Code != tt.code {
				t.Errorf("%s: %v", tt.name, got)
			}
		}
		joined := r.join(good)
		if joined.Error != "" || joined.MasterKey != "master's key" || joined.Cluster != "c" {
			t.Fatalf("joined: %v", joined)
		}
		if got := r.join(good); got.Code != "spent" || got.Agent != "" {
			t.Errorf("a second time: %v", got)
		}
		if agent, ok := r.AgentOf(good.Key); !ok || agent != joined.Agent {
			t.Errorf("the key is agent %q's, %v", agent, ok)
		}
		if _, _, err := r.JoinToken(context.Background(), 30*24*time.Hour, "admin"); !errors.As(err, new(*run.InputError)) {
			t.Errorf("a token for a month: %v", err)
		}
		if err := r.RevokeAgent(context.Background(), joined.Agent, "admin"); err != nil {
			t.Fatal(err)
		}
		if _, ok := r.AgentOf(good.Key); ok || !slices.Contains(r.bus.kicked, joined.Agent) {
			t.Errorf("a revoked agent: known %v, kicked %q", ok, r.bus.kicked)
		}
		all, err := r.Agents(context.Background())
		if err != nil || len(all) != 1 || all[0].State != string(agentRevoked) {
			t.Errorf("agents: %+v, %v", all, err)
		}
	})
}

// An agent with another protocol is refused with a hint; others run.
func TestRefusedAgent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one", "two")
		r.of("two").change(func(a *fakeAgent) { a.hello.Protocol, a.hello.Version = 99, "9.9" })
		r.standing("two", agentRefused)
		if w, _ := r.fleet.get("atwo"); !strings.Contains(w.why, "gobench 9.9 there speaks protocol 99") || !strings.Contains(w.why, "install the same version") {
			t.Errorf("why: %q", w.why)
		}
		r.of("one").finishes()
		if x := r.result(r.submit(run.Options{})); x.State != run.Finished || len(x.Hosts) != 1 || x.Hosts[0].Name != "one" {
			t.Errorf("the run is %s (%s) on %+v", x.State, x.Cause, x.Hosts)
		}
	})
}

// F37: an agent of another platform gets an executor for that platform.
func TestPlatforms(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one", "two")
		r.of("two").change(func(a *fakeAgent) { a.hello.Os, a.hello.Arch = "plan9", "mips" })
		r.until("its beat has told", func() bool { w, _ := r.fleet.get("atwo"); return w.beat.GetHello().GetOs() == "plan9" })
		r.of("one").finishes()
		r.of("two").finishes()
		if x := r.result(r.submit(run.Options{})); x.State != run.Finished {
			t.Errorf("the run is %s (%s)", x.State, x.Cause)
		}
		for name, want := range map[string]string{"one": platformOf(r.of("one").hello).os, "two": "plan9"} {
			for _, c := range r.of(name).received {
				if p := c.GetPrepare(); p != nil && (p.Os != want || !strings.HasPrefix(p.Executor.Sha256, "sum of "+want)) {
					t.Errorf("%s was given %s for %s", name, p.Executor.Sha256, p.Os)
				}
			}
		}
		if !r.compiler.compiled["plan9/mips"] {
			t.Errorf("compiled for %v", r.compiler.compiled)
		}
	})
}
