package run

import (
	"crypto/rand"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// State is the state of a run.
type State string

// The states, in the order in which a run passes through them; the last three are final, and a
// run may change to Failed or Cancelled from any state before them. Only a master uses Queued.
const (
	Queued    State = "queued"
	Compiling State = "compiling"
	Starting  State = "starting"
	Running   State = "running"
	Stopping  State = "stopping" // the load is over, operations in flight drain
	Finished  State = "finished"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Final reports whether s is a final state.
func (s State) Final() bool { return s == Finished || s == Failed || s == Cancelled }

// order is the order of the states before the final ones.
var order = []State{Queued, Compiling, Starting, Running, Stopping}

// May reports whether a run in state s may change to next: to the following state, from
// Running or Stopping to Finished, and from every state that is not final to Failed or
// Cancelled.
func (s State) May(next State) bool {
	at := slices.Index(order, s)
	switch next {
	case Failed, Cancelled:
		return at >= 0
	case Finished:
		return s == Running || s == Stopping
	}
	return at >= 0 && at+1 < len(order) && order[at+1] == next
}

// Active reports whether a run in state s is being executed. A master has at most one active
// run.
func (s State) Active() bool { return slices.Index(order, s) > 0 }

// ErrConflict means that something has changed or exists already, so that a request can't be
// executed.
var ErrConflict = errors.New("conflict")

// ErrNotFound means that there is no run with that id.
var ErrNotFound = errors.New("no such run")

// ErrTooOld means that some of the requested events are no longer stored. The caller may
// request those that are.
var ErrTooOld = errors.New("events that old are no longer stored: begin again")

// ErrArchive means that the data is not the archive of a run.
var ErrArchive = errors.New("not the archive of a run")

// ErrFull means that there is no space left to store the data. The request may be repeated
// later.
var ErrFull = errors.New("no space left")

// idTime is the format of the first part of an id; ids sort by time.
const idTime = "20060102-150405"

// idEnd is the number of characters after the time and its hyphen.
const idEnd = 6

// NewID returns an id for a run that begins at t: its UTC time to the second, two characters
// for the fraction of the second, and four random ones, as in 20260102-150405-a1b2c3. Ids
// sort by time, to about a millisecond. They are almost certainly unique, which is not
// checked.
func NewID(t time.Time) string {
	t = t.UTC()
	rest := strconv.FormatInt(36*36+int64(t.Nanosecond())*36*36/1e9, 36)[1:] // with its leading zero
	return t.Format(idTime) + "-" + rest + strings.ToLower(rand.Text()[:4])
}

// ValidID reports whether s has the form of an id; there may be no such run. Other texts
// must not be used as a path.
func ValidID(s string) bool {
	if len(s) != len(idTime)+1+idEnd || s[len(idTime)] != '-' {
		return false
	}
	if _, err := time.Parse(idTime, s[:len(idTime)]); err != nil {
		return false
	}
	return !strings.ContainsFunc(s[len(idTime)+1:], func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
}
