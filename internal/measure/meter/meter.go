// Package meter turns what a scenario declares and records into counts: a [Registry] holds
// the declared metrics of one executor, a [Meter] records one of them, and [Registry.Cut]
// returns, once an interval, what was recorded since the last cut.
//
// Recordings go to shards, each under a mutex of its own and chosen by the calling
// goroutine, so that many goroutines record at once without waiting for each other. A cut
// swaps a shard's histograms for empty ones under that mutex and adds them up outside it.
// All recordings of one [Entry] are in the same cut.
//
// Memory is bounded by the number of metrics, whatever the length of the run or the number
// of recordings.
package meter

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run/segment"
)

// Limits of one registry. A scenario that exceeds one of them is refused with an error that
// names it.
const (
	maxMetrics = 1000 // metrics in a run
	maxTitle   = 128  // bytes of a title, a group's or a graph's name
	maxTexts   = 200  // error texts of one source; the rest count under otherText
	maxText    = 512  // bytes of an error's text
)

// Registry holds the declared metrics of one executor and their counts. It is safe for
// concurrent use.
type Registry struct {
	declared atomic.Pointer[declared] // copied on write, so that reading takes no lock
	shards   []*shard
	shift    uint
	to       *connection // of a connected registry; if nil, this one counts
	shared   sync.Map    // values of Shared
	refused  atomic.Int64
	failures failures
	_        [64]byte
	inFlight atomic.Int64 // operations of all users, on a cache line of its own
	_        [64]byte
	samples  samples
	watch    watch
	classes  atomic.Pointer[[]string] // names of the classes of users, by number
	numbers  atomic.Pointer[segment.Numbers]

	mu     sync.Mutex // held while declaring and cutting; taken before any shard's
	cut    Cut
	known  int              // number of metrics that earlier cuts contain
	spares []*hdr.Histogram // by slot: empty histograms for the next swap
	totals []*hdr.Histogram // by slot: all cuts' sums, of both phases
	sums   []int64          // by slot: all cuts' counters, of both phases
	own    delta
	other  delta
}

// New returns an empty registry, with a number of shards that suits GOMAXPROCS at that
// time: 8 to 128.
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

// SetClasses sets the names of the classes of users, in the order of the numbers that
// scopes have.
func (r *Registry) SetClasses(names []string) { r.classes.Store(&names) }

// SetNumbers sets which of the numbers that are split among the run's executors, as {{seq}}
// and rows of data, belong to this one.
func (r *Registry) SetNumbers(n segment.Numbers) { r.numbers.Store(&n) }

// Numbers returns the numbers that SetNumbers has set; before that, all.
func (r *Registry) Numbers() segment.Numbers {
	if n := r.numbers.Load(); n != nil {
		return *n
	}
	return segment.Numbers{}
}

// Shared returns the value that belongs to key in this registry; the first call creates it
// with make. An error of make is returned, nothing is stored, and the next call tries
// again. Clients store there what all users of a prefix share; later calls cost one map
// read. When several goroutines make the first call, make may run more than once; all get
// the same value, and the others are dropped without being closed.
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
