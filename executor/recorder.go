package executor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/run"
)

// Recorder records the metrics of one user. [From] returns it from the user's ctx; all users
// of an executor share the same metrics. Any number of goroutines may call its methods at
// once. There is nothing to close.
type Recorder meter.Scope

// own is the process's recorder: that of code without a user's ctx. current is the recorder in
// use: own, or that of SetClientConnect.
var (
	own     = &Recorder{Registry: meter.New()}
	current atomic.Pointer[Recorder]
)

func init() { current.Store(own) }

// From returns the recorder that ctx carries. If it carries none, From returns the process's
// own, or that of [SetClientConnect]. It never returns nil.
func From(ctx context.Context) *Recorder {
	if s := meter.ScopeOf(ctx); s != nil {
		return (*Recorder)(s)
	}
	return current.Load()
}

// Setup declares metrics; see [Recorder.Setup].
func Setup(groups []metrics.Group) error { return current.Load().Setup(groups) }

// Notify records value under title; see [Recorder.Notify].
func Notify(title string, value int64) error { return current.Load().Notify(title, value) }

// Find returns the meter of title; see [Recorder.Find].
func Find(title string) (Meter, error) { return current.Load().Find(title) }

// ClientConnector receives what a scenario and its clients declare and record; see
// [SetClientConnect]. Any number of goroutines may call its methods at once. They must not
// declare or record themselves.
type ClientConnector interface {
	// Setup receives each declaration of metrics, also repeated ones. Its error is that of
	// executor.Setup, or of the constructor of the client that declares.
	Setup([]metrics.Group) error
	// Notify receives each value with its metric's title: a counter's increment, a histogram's
	// value, a gauge's new value. Its error is that of executor.Notify; the methods of [Meter]
	// and [Entry] ignore it.
	Notify(title string, value int64) error
}

// SetClientConnect makes cc receive everything that is declared and recorded from now on
// without a run's ctx, by [Setup], [Notify] and [Find] and by clients made with a plain
// context. It is for tests of scenarios and clients; what cc receives is not counted. A nil cc
// restores the process's own recorder. Clients created before are not affected, nor are those
// created with the ctx of a user in a run. The error is always nil.
//
// Tests that may run in parallel use package executortest instead.
func SetClientConnect(cc ClientConnector) error {
	if cc == nil {
		current.Store(own)
		return nil
	}
	current.Store(&Recorder{Registry: meter.NewConnected(cc.Setup, cc.Notify)})
	return nil
}

// Rand returns the random source of ctx's user, the same at each call. It is seeded from the
// run's recorded seed, so that a run can be repeated. Only the user's own goroutine may use
// it. If ctx carries no recorder, the source has a fixed seed, and the whole process shares
// it: any number of goroutines may use it at once.
func Rand(ctx context.Context) *rand.Rand {
	if s := meter.ScopeOf(ctx); s != nil {
		return s.Rand()
	}
	return shared
}

// shared is the random source of code without a user's ctx. A rand.Rand has no state beside
// its source.
var shared = rand.New(&lockedSource{source: rand.NewPCG(0, 0)})

// lockedSource is a source for any number of goroutines.
type lockedSource struct {
	mu     sync.Mutex
	source *rand.PCG // guarded by mu
}

func (s *lockedSource) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.source.Uint64()
}

// Meter records one metric without looking up its name: call Find once, then Record, Add or
// Set, which cost a few nanoseconds and no allocation. Any number of goroutines may use the
// same Meter at once. Record records a value: a histogram counts it, a counter adds it, a
// gauge is set to it. Add adds to a counter or a gauge; Set sets a gauge. A negative value of
// a counter or histogram is dropped, and the report shows the number of dropped values. The
// zero Meter must not be used.
type Meter = meter.Meter

// Entry records several values of one event under one lock, so that no interval's end
// separates them. [Recorder.Entry] opens it; call Record and Add with meters of the same
// recorder. The caller must Close it at once and record nothing else before: an open Entry
// blocks the other recordings of its shard, also those of its own goroutine.
type Entry = meter.Entry

// Setup declares groups of metrics. Declaring the same groups again is normal, since each user
// creates its own client, and costs one map read per group. A later declaration may add graphs
// to a group. A title is unique in a run: if it was declared with another type, unit, graph or
// group, Setup returns an error that names both declarations. It also returns an error for a
// name, title or unit that is not 1 to 128 bytes of printable text, for an unknown type, and
// for more than 1,000 metrics in a run. After an error nothing is declared. The caller may
// change groups afterwards.
func (r *Recorder) Setup(groups []metrics.Group) error { return r.Registry.Setup(groups) }

// Declare is [Recorder.Setup] of metrics of which some have a role: counts is by title, and
// each of its titles must be one of groups. It returns an error, too, if a metric cannot have
// its role, if its Of is empty, or if it was declared with another one.
func (r *Recorder) Declare(groups []metrics.Group, counts map[string]metrics.Counts) error {
	all := make(map[string]run.Counts, len(counts))
	for title, c := range counts {
		switch c.Role {
		case metrics.Begun, metrics.OK, metrics.Failed, metrics.Unanswered, metrics.Resent, metrics.Followed, metrics.Time, metrics.Age,
			metrics.Bytes, metrics.Connections, metrics.Detail:
		default:
			return fmt.Errorf("metric %q has the role %q, which package metrics does not have", title, c.Role)
		}
		all[title] = run.Counts{Role: run.Role(c.Role), Of: c.Of, By: c.By, Part: c.Part}
	}
	return r.Registry.Declare(groups, all)
}

// Notify records value under title: a counter adds it, a histogram counts it, a gauge is set
// to it. It returns an error, and records nothing, if title is not declared or if value is
// negative for a counter or histogram.
func (r *Recorder) Notify(title string, value int64) error {
	return r.Registry.Notify((*meter.Scope)(r).Phase(), title, value)
}

// Find returns the meter of a declared title. If title is not declared, it returns the zero
// Meter, which must not be used, and an error that names title.
func (r *Recorder) Find(title string) (Meter, error) { return r.Registry.Find(title) }

// Entry opens an Entry, which the caller must Close.
func (r *Recorder) Entry() Entry { return (*meter.Scope)(r).Entry() }

// Record records a value of m, as [Meter.Record] does, in the phase of the user's iteration: the
// warm-up or the measured time, by its planned start. So do Notify and Entry; a Meter itself
// records in the phase of the moment.
func (r *Recorder) Record(m Meter, value int64) { (*meter.Scope)(r).Record(m, value) }

// Error counts a failure under source (a client's prefix), class (a word such as "timeout")
// and text, of which at most 512 bytes are used. The first 200 pairs of class and text of a
// source are counted separately, further ones under their class and the text "other", so text
// should not contain what differs from one failure to the next.
func (r *Recorder) Error(source, class, text string) {
	r.Registry.Failed((*meter.Scope)(r).Phase(), source, class, text)
}

// Begin marks the start of an operation of this user, and End its end: the end of a run waits
// for operations in flight. While the run is stopping, Begin returns context.Canceled to a
// user whose work is a single call of Fu; the client must then not start the operation, not
// call End, and return that error.
func (r *Recorder) Begin() error { return (*meter.Scope)(r).Begin(0) }

// End ends the operation of a Begin that returned nil.
func (r *Recorder) End() { (*meter.Scope)(r).End() }

// Shared returns the value of key in this run and process; the first call calls make for it,
// later ones cost one map read. A client stores there what all users share, such as the meters
// of a prefix. key must be comparable, and of a type of the caller's package. If make returns
// an error, Shared returns it and stores nothing. Concurrent first calls may each call make;
// all return the same value.
func (r *Recorder) Shared(key any, make func() (any, error)) (any, error) {
	return r.Registry.Shared(key, make)
}
