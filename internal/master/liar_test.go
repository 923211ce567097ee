package master

import (
	"math"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// F49: an agent that reports what no executor can report fails the run, or its report is
// limited; the master keeps running.
func TestHellosThatLie(t *testing.T) {
	t.Parallel()
	class := func(change func(*wire.Class)) []*wire.Hello {
		c := oneClass()[0]
		change(c)
		return []*wire.Hello{{Protocol: wire.Protocol, Classes: []*wire.Class{c}}}
	}
	for name, hellos := range map[string][]*wire.Hello{
		"none":               {},
		"nil":                {nil},
		"two":                {{Classes: oneClass()}, {Classes: oneClass()}},
		"no classes":         {{}},
		"a class twice":      {{Classes: append(oneClass(), oneClass()...)}},
		"no users":           class(func(c *wire.Class) { c.Nu = 0 }),
		"less than no users": class(func(c *wire.Class) { c.Nu = -5 }),
		"too many users":     class(func(c *wire.Class) { c.Nu = math.MaxInt64 }),
		"no number":          class(func(c *wire.Class) { c.Rate = math.NaN() }),
		"endless":            class(func(c *wire.Class) { c.Rate = math.Inf(1) }),
		"no name":            class(func(c *wire.Class) { c.Name = "" }),
		"iterations":         class(func(c *wire.Class) { c.Iterations = -1 }),
		"a stage":            class(func(c *wire.Class) { c.Stages = []*wire.Stage{{To: -1, OverNs: -1}} }),
		"an error":           {{Error: "export() panicked"}},
		"another protocol":   {{Protocol: 77, Classes: oneClass()}},
		"a threshold":        {{Classes: oneClass(), Thresholds: []string{"what"}}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, "one")
				a := r.of("one")
				a.change(func(*fakeAgent) {
					a.answers = func(c *agentpb.Command) *agentpb.Answer {
						if kind(c) == "prepare" {
							return &agentpb.Answer{Hellos: hellos}
						}
						return nil
					}
				})
				if x := r.result(r.submit(run.Options{})); x.State != run.Failed || x.Cause == "" {
					t.Errorf("the run is %s (%s)", x.State, x.Cause)
				}
				a.change(func(*fakeAgent) { a.answers = nil })
				a.finishes()
				if x := r.result(r.submit(run.Options{})); x.State != run.Finished {
					t.Errorf("the next run is %s (%s)", x.State, x.Cause)
				}
			})
		})
	}
}

// An agent with a wrong clock does not prevent the others from beginning.
func TestClocksThatLie(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one", "two")
		two := r.of("two")
		two.change(func(*fakeAgent) {
			two.answers = func(c *agentpb.Command) *agentpb.Answer {
				if kind(c) == "ping" {
					return &agentpb.Answer{ReceivedNs: time.Now().UnixNano(), SentNs: time.Now().Add(-1000 * time.Hour).UnixNano()}
				}
				return nil
			}
		})
		id := r.running(run.Options{}, "one", "two")
		began := time.Now()
		for _, c := range r.of("one").received {
			if b := c.GetBegin(); b != nil && time.Unix(0, b.AtUnixNs).After(began.Add(5*time.Second)) {
				t.Errorf("the load begins at %v", time.Unix(0, b.AtUnixNs))
			}
		}
		r.of("one").finish()
		two.finish()
		if x := r.result(id); x.State != run.Finished {
			t.Errorf("the run is %s (%s)", x.State, x.Cause)
		}
	})
}
