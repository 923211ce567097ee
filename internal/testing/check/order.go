package check

import (
	"slices"
	"time"
)

// next holds the states that may follow a state.
var next = map[string][]string{
	"":          {"queued"},
	"queued":    {"compiling", "failed", "cancelled"},
	"compiling": {"starting", "failed", "cancelled"},
	"starting":  {"running", "failed", "cancelled"},
	"running":   {"stopping", "finished", "failed", "cancelled"},
	"stopping":  {"finished", "failed", "cancelled"},
}

func final(state string) bool {
	return state == "finished" || state == "failed" || state == "cancelled"
}

func active(state string) bool { return state != "queued" && !final(state) }

// order checks I6: numbers, that runs were active one at a time in that order, and that at
// most one is active now.
func (c *checker) order(s *stored) {
	var before *stored1 // the previous active run
	actives := 0
	for i, r := range s.runs {
		if r.number < 1 || r.number > s.numbers {
			c.fault("I6", r.id, "its number is %d, and the last that was given is %d", r.number, s.numbers)
		}
		if i > 0 && r.number == s.runs[i-1].number {
			c.fault("I6", r.id, "it has the number %d of run %s", r.number, s.runs[i-1].id)
		}
		if r.active {
			actives++
		}
		from, _ := r.activity()
		if from == 0 {
			continue
		}
		if before != nil {
			_, end := before.activity()
			if end == 0 || end > from {
				c.fault("I6", r.id, "it became active at %s, and run %s before it was until %s", at(from), before.id, at(end))
			}
		}
		before = r
	}
	if actives > 1 {
		c.fault("I6", "", "%d runs are active", actives)
	}
}

// activity returns when a run became active and when it ended, in ns since 1970; 0 means
// never, or not yet.
func (r *stored1) activity() (from, to int64) {
	for _, t := range r.transitions {
		if active(t.to) && from == 0 {
			from = t.at
		}
		if final(t.to) {
			to = t.at
		}
	}
	return from, to
}

// at formats a time of the day in ns since 1970, in UTC, as 15:04:05.000; 0 is "no end".
func at(ns int64) string {
	if ns == 0 {
		return "no end"
	}
	return time.Unix(0, ns).UTC().Format("15:04:05.000")
}

// transitions checks I7: a run's transitions follow each other as allowed, and its row and its
// result have the last state.
func (c *checker) transitions(r *stored1) {
	state := ""
	for i, t := range r.transitions {
		if t.version != int64(i)+1 {
			c.fault("I7", r.id, "transition %d has version %d", i+1, t.version)
		}
		if t.from != state {
			c.fault("I7", r.id, "transition %d is from %q, and the run was %q", t.version, t.from, state)
		}
		if !slices.Contains(next[t.from], t.to) {
			c.fault("I7", r.id, "transition %d is from %q to %q, which may not be", t.version, t.from, t.to)
		}
		if i > 0 && t.at < r.transitions[i-1].at {
			c.fault("I7", r.id, "transition %d is before the one before it", t.version)
		}
		state = t.to
	}
	if state != r.state || r.version != int64(len(r.transitions)) {
		c.fault("I7", r.id, "it is %q, version %d, and its %d transitions led to %q", r.state, r.version, len(r.transitions), state)
		return
	}
	if r.final != final(r.state) || r.active != active(r.state) {
		c.fault("I7", r.id, "it is %s and marked as final %v, active %v", r.state, r.final, r.active)
	}
	last := r.transitions[len(r.transitions)-1]
	if r.cause != last.cause {
		c.fault("I7", r.id, "its cause is %q, and its last transition's %q", r.cause, last.cause)
	}
	if r.final && r.ended != last.at {
		c.fault("I7", r.id, "it ended at %s, and became %s at %s", at(r.ended), r.state, at(last.at))
	}
	if r.result != nil && r.final && string(r.result.State) != r.state {
		c.fault("I7", r.id, "it is %s, and its result says %s", r.state, r.result.State)
	}
}
