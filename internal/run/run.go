// Package run holds the domain: what a run is, the states it goes through, and the
// result that everything else stores, shows and compares.
package run

import (
	"crypto/rand"
	"errors"
	"strconv"
	"strings"
	"time"
)

// State is where a run stands.
type State string

// The states, in the order in which a run goes through them; the last three are
// final, and a run may go to Failed or Cancelled from any state before them.
const (
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

// ErrNotFound means that there is no run of that id.
var ErrNotFound = errors.New("no such run")

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
