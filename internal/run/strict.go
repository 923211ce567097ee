package run

import (
	"fmt"
	"slices"
	"strings"
)

// Strict is which runs have an exit status of their own, though all conditions are met.
type Strict struct {
	Invalid    bool // those that are INVALID: ExitInvalid
	Suspect    bool // those that are SUSPECT or INVALID: ExitInvalid
	Incomplete bool // those that did less than they were to (Result.Incomplete): ExitInvalid
	Undecided  bool // those with a threshold that is not decided: ExitUndecided
}

// StrictWords are the words of ParseStrict.
var StrictWords = []string{"invalid", "suspect", "incomplete", "undecided"}

// ParseStrict parses a list of StrictWords, as "suspect,undecided". The error names a wrong word.
func ParseStrict(text string) (s Strict, err error) {
	for word := range strings.SplitSeq(text, ",") {
		switch strings.TrimSpace(word) {
		case "invalid":
			s.Invalid = true
		case "suspect":
			s.Invalid, s.Suspect = true, true
		case "incomplete":
			s.Incomplete = true
		case "undecided":
			s.Undecided = true
		default:
			return Strict{}, fmt.Errorf("%q is not one of %s", word, strings.Join(StrictWords, ", "))
		}
	}
	return s, nil
}

// Incomplete returns why r did less than it was to, or counted less than it did; "" if it did all.
func (r *Result) Incomplete() string {
	switch o := r.Outcome(); {
	case !r.Complete:
		return "not all that was counted is in the totals"
	case o.Dropped+o.Unserved > 0:
		return fmt.Sprintf("of %d planned starts %d were dropped or not served", o.Planned, o.Dropped+o.Unserved)
	case o.Void > 0:
		return "the data ran out before the load ended"
	case slices.ContainsFunc(r.Metrics, func(m Metric) bool { return m.Role == ClassLost && m.Count != nil && *m.Count > 0 }):
		return "a part of the load was lost with its executor"
	}
	return ""
}
