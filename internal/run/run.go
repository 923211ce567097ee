package run

import (
	"crypto/rand"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// State is where a run stands.
type State string

// The states, in the order in which a run goes through them; the last three are
// final, and a run may go to Failed or Cancelled from any state before them. Queued is
// of a master only.
const (
	Queued    State = "queued"
	Compiling State = "compiling"
	Starting  State = "starting"
	Running   State = "running"
	Stopping  State = "stopping" // the load is over, what is in flight drains
	Finished  State = "finished"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Final tells whether a run in state s never changes again.
func (s State) Final() bool { return s == Finished || s == Failed || s == Cancelled }

// order is that in which the states before the final ones follow each other.
var order = []State{Queued, Compiling, Starting, Running, Stopping}

// May tells whether a run in state s may go to next: on to the state that follows, from
// Running or Stopping to Finished, and from all that are not final to Failed or Cancelled.
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

// Active tells whether a run in state s is at work: at most one run of a master is.
func (s State) Active() bool { return slices.Index(order, s) > 0 }

// ErrConflict means that something has changed, or is there already, so that what was
// asked for can't be done.
var ErrConflict = errors.New("conflict")

// ErrNotFound means that there is no run of that id.
var ErrNotFound = errors.New("no such run")

// ErrArchive means that what was given is not the archive of a run.
var ErrArchive = errors.New("not the archive of a run")

// ErrFull means that no space is left to keep what was given. It may be given again later.
var ErrFull = errors.New("no space left")

// idTime is how an id begins; ids sort by time.
const idTime = "20060102-150405"

// idEnd is how many characters follow the time and its hyphen.
const idEnd = 6

// NewID makes the id of a run that begins at t: its UTC time to the second, two
// characters for the rest of it, and four random ones.
func NewID(t time.Time) string {
	t = t.UTC()
	rest := strconv.FormatInt(36*36+int64(t.Nanosecond())*36*36/1e9, 36)[1:] // with its leading zero
	return t.Format(idTime) + "-" + rest + strings.ToLower(rand.Text()[:4])
}

// ValidID tells whether s has the form of an id. What has not is never used as a path.
func ValidID(s string) bool {
	if len(s) != len(idTime)+1+idEnd || s[len(idTime)] != '-' {
		return false
	}
	if _, err := time.Parse(idTime, s[:len(idTime)]); err != nil {
		return false
	}
	return !strings.ContainsFunc(s[len(idTime)+1:], func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
}
