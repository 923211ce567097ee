package meter

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
)

// Scope is what a user's context carries: the registry that its recordings go to,
// and how many of its operations are in flight. Clients keep a pointer to it.
type Scope struct {
	Registry *Registry
	Gate     *Gate            // nil: always open
	Seed     [2]uint64        // of the user's own random source
	Class    int              // the user's class, by its place in the scenario
	User     int64            // vui, the user's number in its class
	OnEnd    func(why string) // ends the load of the user's class; nil: it has none

	inFlight atomic.Int32
	refused  atomic.Int32
	over     atomic.Bool
	Named    bool // Class and User are set
	rand     *rand.Rand
}

// Gate lets a class of users begin operations until it is closed.
type Gate struct{ closed atomic.Bool }

// Close refuses every later Begin behind g.
func (g *Gate) Close() { g.closed.Store(true) }

// Begin marks an operation as in flight, to be ended by End, or refuses it with
// context.Canceled because the run is stopping.
func (s *Scope) Begin() error {
	if s.Gate != nil && s.Gate.closed.Load() {
		s.refused.Add(1)
		return context.Canceled
	}
	s.inFlight.Add(1)
	return nil
}

// End marks an operation as over.
func (s *Scope) End() { s.inFlight.Add(-1) }

// InFlight is the number of operations between Begin and End.
func (s *Scope) InFlight() int { return int(s.inFlight.Load()) }

// Refused is the number of operations that Begin refused.
func (s *Scope) Refused() int { return int(s.refused.Load()) }

// Exhaust tells that nothing is left for the user to do, and why: its class begins no
// more iterations, and the user's own, which it has nothing for, does not count.
func (s *Scope) Exhaust(why string) {
	s.over.Store(true)
	if s.OnEnd != nil {
		s.OnEnd(why)
	}
}

// Exhausted tells whether Exhaust was called.
func (s *Scope) Exhausted() bool { return s.over.Load() }

// Rand is the user's own random source, made at the first call from Seed. Only the
// user's own goroutine may use it.
func (s *Scope) Rand() *rand.Rand {
	if s.rand == nil {
		s.rand = rand.New(rand.NewPCG(s.Seed[0], s.Seed[1]))
	}
	return s.rand
}

// scopedContext is a context with its scope in one allocation: there may be a
// million of them.
type scopedContext struct {
	context.Context
	scope Scope
}

type scopeKey struct{}

// With gives a context under parent that carries a new scope, and that scope.
func With(parent context.Context, r *Registry, gate *Gate, seed [2]uint64) (context.Context, *Scope) {
	c := &scopedContext{Context: parent}
	c.scope.Registry, c.scope.Gate, c.scope.Seed = r, gate, seed
	return c, &c.scope
}

// Value gives the scope for its own key and asks the parent for all others.
func (c *scopedContext) Value(key any) any {
	if key == (scopeKey{}) {
		return &c.scope
	}
	return c.Context.Value(key)
}

// ScopeOf gives the scope that ctx carries, or nil.
func ScopeOf(ctx context.Context) *Scope {
	s, _ := ctx.Value(scopeKey{}).(*Scope)
	return s
}
