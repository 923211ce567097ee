// Package meter turns what a scenario declares and records into counts: a
// [Registry] holds the declared metrics of one executor, a [Meter] records one of
// them, and once an interval [Registry.Cut] takes what came since the last cut.
//
// Recordings go to shards, each under a mutex of its own and chosen by the calling
// goroutine, so that many goroutines record at once without waiting for each
// other. A cut swaps a shard's histograms for empty ones under that mutex and adds
// them up outside it. All recordings of one [Entry] land in the same cut.
//
// Memory is bounded by the number of metrics, whatever the length of the run or
// the number of recordings.
package meter

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run/segment"
)

// Limits of one registry: a scenario beyond them is refused by name.
const (
	MaxMetrics = 1000 // metrics in a run
	MaxTitle   = 128  // bytes of a title, a group's or a graph's name
	MaxTexts   = 200  // error texts of one source; the rest count under OtherText
	maxText    = 512  // bytes of an error's text
)

// Registry holds the declared metrics of one executor and their counts. All its
// methods may be called at once by any number of goroutines.
type Registry struct {
	declared atomic.Pointer[declared] // copied on write, so that reading takes no lock
	shards   []*shard
	shift    uint
	to       *connection // of a connected registry; nil: it counts
	shared   sync.Map    // values of Shared
	refused  atomic.Int64
	failures failures
	samples  samples
	watch    watch
	classes  atomic.Pointer[[]string] // names of the classes of users, by number
	numbers  atomic.Pointer[segment.Numbers]

	mu     sync.Mutex // guards declaring and cutting; taken before any shard's
	cut    Cut
	known  int              // metrics that earlier cuts have told of
	spares []*hdr.Histogram // by slot: empty ones for the next swap
	deltas []*hdr.Histogram // by slot: this cut's sums
	totals []*hdr.Histogram // by slot: all cuts' sums
	sums   []int64          // by slot: all cuts' counters
	adds   []int64          // by slot: this cut's counters
}

// New makes an empty registry.
func New() *Registry {
	n := 8
	for n < 4*runtime.GOMAXPROCS(0) && n < 128 {
		n *= 2
	}
	r := &Registry{shift: uint(64 - bits.TrailingZeros(uint(n)))}
	r.declared.Store(&declared{})
	for range n {
		r.shards = append(r.shards, new(shard))
	}
	return r
}

// SetClasses tells the names of the classes of users, by the numbers that scopes have.
func (r *Registry) SetClasses(names []string) { r.classes.Store(&names) }

// SetNumbers tells which numbers of what is dealt out among the run's executors, as
// {{seq}} and rows of data, are this one's.
func (r *Registry) SetNumbers(n segment.Numbers) { r.numbers.Store(&n) }

// Numbers are what SetNumbers has told; before that, all.
func (r *Registry) Numbers() segment.Numbers {
	if n := r.numbers.Load(); n != nil {
		return *n
	}
	return segment.Numbers{}
}

// Shared gives the one value that belongs to key in this registry, made by make at
// the first call. Clients keep there what all users of a prefix have in common;
// later calls cost one map read. Under a race make may run twice; one result wins.
func (r *Registry) Shared(key any, make func() (any, error)) (any, error) {
	if v, ok := r.shared.Load(key); ok {
		return v, nil
	}
	v, err := make()
	if err != nil {
		return nil, err
	}
	v, _ = r.shared.LoadOrStore(key, v)
	return v, nil
}
