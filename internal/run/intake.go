package run

import (
	"fmt"
	"time"
)

// Intake is what a master keeps in one transaction of what executors counted: batches,
// each once, and what they change.
type Intake struct {
	Batches []BatchKey
	Sources []SourceState
	Series  []SeriesPart
	Totals  []TotalsState
	Results []*Result // that change with it
}

// BatchKey names a batch of an executor: it is taken in once.
type BatchKey struct {
	Run      string
	Executor int
	Epoch    uint64
	Seq      uint64
	Agent    string
	Sum      uint64 // of its bytes: another under the same key is an alarm
}

// SourceState is what is known of an executor after its last batch, in the form of
// internal/measure/merge. A later one takes its place.
type SourceState struct {
	Run      string
	Executor int
	Epoch    uint64
	Agent    string
	Seq      uint64 // of the last batch
	State    []byte
}

// TotalsState is what is known of a whole run, in the form of internal/measure/merge. A later
// one takes its place.
type TotalsState struct {
	Run   string
	State []byte
}

// SeriesPart is what was recorded in a piece of a run's time, in the form of
// internal/measure/merge: by one agent, or by all. What is recorded later for the same time is
// another part of it.
type SeriesPart struct {
	Run      string
	Agent    string        // id; empty: all of them
	Step     time.Duration // between pieces: a run's interval, then 10 s, then 1 min
	From, To time.Duration // since the load began
	Warmup   bool          // of a warm-up: in the series, not in the totals
	Data     []byte
}

// SeriesQuery asks for the parts of a series.
type SeriesQuery struct {
	Run      string
	Agent    string        // id; empty: of all
	From, To time.Duration // To 0: to the end
	Points   int           // about so many are wanted at most; 0: as fine as there is
}

// Filter chooses from what there is many of, the newest first. The zero value asks for
// the first page of all.
type Filter struct {
	State       State
	Application string
	Tag         string
	Owner       string
	Text        string // in the name
	After       string // the cursor that came with the page before
	Limit       int    // 1 to 200; 0: 50
}

// TakenError says that a batch has been taken in before.
type TakenError struct {
	Key   BatchKey
	Other bool // its bytes were other ones: somebody lies, or two executors have one name
}

func (e *TakenError) Error() string {
	s := fmt.Sprintf("batch %d of executor %d of run %s (epoch %d) has been taken in before", e.Key.Seq, e.Key.Executor, e.Key.Run, e.Key.Epoch)
	if e.Other {
		s += ", with other bytes"
	}
	return s
}
