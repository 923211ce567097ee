package meter

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Scope is what a user's context carries: the registry for its recordings, and the number
// of its operations in flight. Clients store a pointer to it.
type Scope struct {
	Registry *Registry
	Gate     *Gate            // nil if always open
	Seed     [2]uint64        // of the user's own random source
	Class    int              // the user's class, by its place in the scenario
	User     int64            // vui, the user's number in its class
	OnEnd    func(why string) // ends the load of the user's class; may be nil
	PhaseNow func() Phase     // of an operation that begins now; nil if SetPhase is called for it
	Slowed   *Meter           // counts the waits of Unsent; nil for a user whose starts have a schedule

	phase    atomic.Uint32
	planned  atomic.Int64 // of the iteration that is under way, ns, plus 1; 0: none
	limit    atomic.Int64 // longest of the user's operations so far, ns
	inFlight atomic.Int32
	refused  atomic.Int32
	unsent   atomic.Int32 // calls in a row that failed before the network
	over     atomic.Bool
	Named    bool // Class and User are set
	rand     *rand.Rand

	delayed delayed
}

// Gate lets a class of users begin operations until it is closed.
type Gate struct{ closed atomic.Bool }

// Close makes every later Begin behind g fail.
func (g *Gate) Close() { g.closed.Store(true) }

// SetPhase sets the phase to which what the user records from now on belongs, and its
// operations that begin from now on.
func (s *Scope) SetPhase(p Phase) {
	if s.Phase() != p { // usually it stays, and a load is cheaper
		s.phase.Store(uint32(p))
	}
}

// Phase returns the phase of SetPhase.
func (s *Scope) Phase() Phase { return Phase(s.phase.Load()) }

// BeginIteration marks an iteration that was planned for a time, 0 or more, as under way.
func (s *Scope) BeginIteration(planned time.Duration) { s.planned.Store(int64(planned) + 1) }

// EndIteration marks the iteration that is under way as ended. It returns false if CutIteration
// has ended it before: then it must not be counted again.
func (s *Scope) EndIteration() bool { return s.planned.Swap(0) != 0 }

// CutIteration ends the iteration that is under way, for a user that does not end it itself, and
// returns when it was planned; ok is false without one.
func (s *Scope) CutIteration() (planned time.Duration, ok bool) {
	n := s.planned.Swap(0)
	return time.Duration(n - 1), n != 0
}

// Entry begins a group of recordings of the user's phase. The caller must Close it.
func (s *Scope) Entry() Entry { return s.Registry.Entry(s.Phase()) }

// Record is Meter.Record of a value of the user's phase. m must be of the scope's registry.
func (s *Scope) Record(m Meter, v int64) { m.RecordIn(s.Phase(), v) }

// Begin marks an operation as in flight, which lasts no longer than limit (0: it has none); the
// caller must call End after it. If the class's gate is closed it returns context.Canceled and
// counts a refused operation; End must not be called then.
func (s *Scope) Begin(limit time.Duration) error {
	if s.Gate != nil && s.Gate.closed.Load() {
		s.refused.Add(1)
		return context.Canceled
	}
	if s.PhaseNow != nil {
		s.SetPhase(s.PhaseNow())
	}
	if int64(limit) > s.limit.Load() { // two operations of a user that begin at once may store the smaller
		s.limit.Store(int64(limit))
	}
	s.inFlight.Add(1)
	s.Registry.inFlight.Add(1)
	return nil
}

// Limit returns the time limit of the user's operations in flight: the longest that one of them,
// or of earlier ones, had; 0 without one in flight, or without a limit.
func (s *Scope) Limit() time.Duration {
	if s.InFlight() == 0 {
		return 0
	}
	return time.Duration(s.limit.Load())
}

// End marks an operation as ended.
func (s *Scope) End() {
	s.inFlight.Add(-1)
	s.Registry.inFlight.Add(-1)
}

// InFlight returns the number of operations of all users that are between Begin and End.
func (r *Registry) InFlight() int64 { return r.inFlight.Load() }

// InFlight returns the number of operations between Begin and End.
func (s *Scope) InFlight() int { return int(s.inFlight.Load()) }

// Refused returns the number of operations that Begin refused.
func (s *Scope) Refused() int { return int(s.refused.Load()) }

// Exhaust declares that nothing is left for the user to do, and why. It calls OnEnd, which
// ends the load of the class: it begins no more iterations. The user's current iteration,
// which has no data, does not count.
func (s *Scope) Exhaust(why string) {
	s.over.Store(true)
	if s.OnEnd != nil {
		s.OnEnd(why)
	}
}

// Exhausted reports whether Exhaust was called.
func (s *Scope) Exhausted() bool { return s.over.Load() }

// Rand returns the user's own random source; the first call creates it from Seed. Only the
// user's own goroutine may use it.
func (s *Scope) Rand() *rand.Rand {
	if s.rand == nil {
		s.rand = rand.New(rand.NewPCG(s.Seed[0], s.Seed[1]))
	}
	return s.rand
}

// scopedContext is a context with its scope in one allocation, as there may be a million of
// them.
type scopedContext struct {
	context.Context
	scope Scope
}

type scopeKey struct{}

// With returns a context derived from parent that carries a new scope, and that scope. gate
// may be nil: operations may then always begin. The context ends when parent does.
func With(parent context.Context, r *Registry, gate *Gate, seed [2]uint64) (context.Context, *Scope) {
	c := &scopedContext{Context: parent}
	c.scope.Registry, c.scope.Gate, c.scope.Seed = r, gate, seed
	return c, &c.scope
}

// Value returns the scope for its own key and asks the parent for all other keys.
func (c *scopedContext) Value(key any) any {
	if key == (scopeKey{}) {
		return &c.scope
	}
	return c.Context.Value(key)
}

// ScopeOf returns the scope that ctx carries, or nil.
func ScopeOf(ctx context.Context) *Scope {
	s, _ := ctx.Value(scopeKey{}).(*Scope)
	return s
}
