package executor

import (
	"context"
	"math/rand/v2"
	"sync/atomic"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/measure/meter"
)

// Recorder is where a user's recordings go. Each user of a run has its own, which
// [From] finds in the user's ctx; all of an executor share the same metrics. Its
// methods may be called by any number of goroutines at once.
type Recorder meter.Scope

// own is the process's recorder: that of code without a user's ctx. current is the one in
// use: own, or that of SetClientConnect.
var (
	own     = &Recorder{Registry: meter.New()}
	current atomic.Pointer[Recorder]
)

func init() { current.Store(own) }

// From returns the recorder that ctx carries, or the process's own if it carries none.
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
// [SetClientConnect]. Any number of goroutines may call its methods at once.
type ClientConnector interface {
	// Setup receives each declaration of metrics. Its error is that of executor.Setup,
	// or of the constructor of the client that declares.
	Setup([]metrics.Group) error
	// Notify receives each value by its metric's title: what a counter adds, what a
	// histogram counts, what a gauge is set to. Its error is that of executor.Notify.
	Notify(title string, value int64) error
}

// SetClientConnect makes cc receive all that is declared and recorded from now on without
// a run's ctx, by [Setup], [Notify] and [Find] and by clients made with a plain context.
// It is for tests of scenarios and clients; nothing is counted meanwhile. A nil cc restores
// the process's own recorder. Clients that exist already are not affected, nor are those
// made with the ctx of a user in a run. The error is always nil.
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

// Rand returns the random source of ctx's user, seeded from the run's recorded seed, so
// that a run can be repeated. Only the user's own goroutine may use it.
func Rand(ctx context.Context) *rand.Rand {
	return (*meter.Scope)(From(ctx)).Rand()
}

// Meter records one metric without looking its name up: resolve it once with Find,
// then call Record, Add or Set (a few nanoseconds, no allocation). Any number of
// goroutines may use the same Meter at once. Record gives the metric a value: a
// histogram counts it, a counter adds it, a gauge is set to it; Add adds to a
// counter or a gauge; Set sets a gauge.
type Meter = meter.Meter

// Entry is several recordings of one event under one lock: open it with
// [Recorder.Entry], call Record and Add with meters of the same recorder, then
// Close, with nothing slow in between.
type Entry = meter.Entry

// Setup declares groups of metrics. To declare the same again is the usual case,
// since each user of a class makes its own client, and costs one map read a group.
// A group may grow by new graphs. A title is unique in a run: to declare it with
// another type, unit or place is an error that names both declarations.
func (r *Recorder) Setup(groups []metrics.Group) error { return r.Registry.Setup(groups) }

// Notify records value under title: a counter adds it, a histogram counts it, a
// gauge is set to it. A title that is not declared is an error, as is a negative
// value for a counter or histogram.
func (r *Recorder) Notify(title string, value int64) error { return r.Registry.Notify(title, value) }

// Find gives the meter of a declared title, for the hot path.
func (r *Recorder) Find(title string) (Meter, error) { return r.Registry.Find(title) }

// Entry begins several recordings that belong to one event.
func (r *Recorder) Entry() Entry { return r.Registry.Entry() }

// Error counts a failure under source (a client's prefix), class (a word, as
// "timeout") and text. A source keeps its first 200 texts apart and counts the
// rest as "other", so leave out of text what differs from one failure to the next.
func (r *Recorder) Error(source, class, text string) { r.Registry.Failed(source, class, text) }

// Begin tells that an operation of this user starts, and End that it is over: a
// run that ends waits for operations in flight. Once the run is stopping, Begin
// returns context.Canceled to a user who has no iterations to end by; the client
// then does nothing and returns that error.
func (r *Recorder) Begin() error { return (*meter.Scope)(r).Begin() }

// End ends what a Begin that returned nil began.
func (r *Recorder) End() { (*meter.Scope)(r).End() }

// Shared gives the one value that belongs to key in this run, made by make at the
// first call. A client keeps there what all its users have in common, as the
// meters of a prefix; later calls cost one map read.
func (r *Recorder) Shared(key any, make func() (any, error)) (any, error) {
	return r.Registry.Shared(key, make)
}
