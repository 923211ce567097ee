package run

import (
	"fmt"
	"time"
)

// Intake is what a master stores in one transaction for the batches of executors: the batches,
// each once, and the values that they change.
type Intake struct {
	Batches []BatchKey
	Sources []SourceState
	Series  []SeriesPart
	Totals  []TotalsState
	Results []*Result // that change in the same transaction
}

// BatchKey identifies a batch of an executor. Each key is stored once.
type BatchKey struct {
	Run      string
	Executor int
	Epoch    uint64
	Seq      uint64
	Agent    string
	Sum      uint64 // checksum of its bytes: a different one under the same key is an error
}

// SourceState is the state of an executor's merged batches after its last one, encoded by
// internal/measure/merge. Each replaces the previous one.
type SourceState struct {
	Run      string
	Executor int
	Epoch    uint64
	Agent    string
	Seq      uint64 // of the last batch
	State    []byte
}

// TotalsState is the state of a whole run's totals, encoded by internal/measure/merge. Each
// replaces the previous one.
type TotalsState struct {
	Run   string
	State []byte
}

// SeriesPart holds the recordings of one agent, or of all, in a period of a run, encoded by
// internal/measure/merge. Later recordings for the same period are a further part.
type SeriesPart struct {
	Run      string
	Agent    string        // id; "" means all
	Step     time.Duration // between pieces: a run's interval, then 10 s, then 1 min
	From, To time.Duration // since the load began
	Warmup   bool          // of a warm-up: in the series, not in the totals
	Data     []byte
}

// SeriesQuery selects the parts of a series.
type SeriesQuery struct {
	Run      string
	Agent    string        // id; "" means all
	From, To time.Duration // To 0: until the end
	Points   int           // approximate maximum number of points; 0: the finest available
}

// Filter selects from a long list, newest first. The zero value selects the first page of the
// whole list.
type Filter struct {
	State       State
	Application string
	Tag         string
	Owner       string
	Text        string // part of the name
	After       string // the cursor returned with the previous page
	Limit       int    // 1 to 200; 0: 50
}

// TakenError is the error for a batch that is already stored.
type TakenError struct {
	Key   BatchKey
	Other bool // the stored batch has other bytes: two executors use one name, or one sends wrong data
}

// Error names the batch's number, executor, run and epoch, and says so if its bytes are
// others.
func (e *TakenError) Error() string {
	s := fmt.Sprintf("batch %d of executor %d of run %s (epoch %d) has been taken in before", e.Key.Seq, e.Key.Executor, e.Key.Run, e.Key.Epoch)
	if e.Other {
		s += ", with other bytes"
	}
	return s
}
