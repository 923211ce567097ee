package monitor

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// advice is what to check when a target answers nothing, by the class of its failures.
var advice = map[string]string{
	"refused":   "nothing listens at that address: is the target running, on that host and port?",
	"dns":       "the name is not known: is it spelled right, and has this machine a network and a name server?",
	"timeout":   "the target is too slow, a firewall drops what is sent, or the time limit (--timeout) is too short",
	"tls":       "no secure connection: does the target speak TLS there? --cacert names who signed its certificate, -k skips the check",
	"reset":     "the target breaks connections off: is it overloaded, or does it want https:// (or http://)?",
	"eof":       "the target closes connections before its answer: is it overloaded, or does it want https:// (or http://)?",
	"protocol":  "what answers does not speak this protocol: is it the right port, and http:// or https:// as the target wants it?",
	"proxy":     "the proxy can't be reached, refuses, or has no way to the target",
	"local_fd":  "this machine lets gobench open no more files: gobench doctor shows what lifts that",
	"blocked":   "the run may not connect there: --allow-target lists where it may, and guards.targets for a run on a master",
	"other":     "has this machine a way to the target's network?",
	"too_large": "answers are larger than the limit: raise the limit, or throw bodies away as they come",
}

// noAnswer returns a note for each client that made operations and got no answer at all,
// with the advice for its most frequent failures that have one; no note if none has. It
// returns nil without notes.
func noAnswer(r *run.Result) (notes []string) {
	for _, m := range r.Metrics {
		if m.Role != run.OpTime || !m.Whole() || m.Lost == nil || *m.Lost == 0 || m.Count == nil || *m.Count > 0 {
			continue
		}
		client := m.Of
		for _, f := range r.Errors {
			if f.Source == client && advice[f.Class] != "" {
				notes = append(notes, fmt.Sprintf("nothing was answered: all %s operations of %s failed (%s); %s", units.Count(*m.Lost), client, f.Class, advice[f.Class]))
				break
			}
		}
	}
	return notes
}

// outages finds the times in which a target that had answered before did not answer: whole
// intervals of the load in which nothing was answered, several operations failed, and all that
// could be answered did, but for what was under way at their end. That all users wait for slow
// answers is no outage, nor is what ends while a run drains.
type outages struct {
	drain    bool // no operations begin any more
	declared int  // number of metrics that were looked through for operations
	all      []*outage
}

// enoughFailed is how many operations must have failed in an outage.
const enoughFailed = 3

// silent is for how many seconds nothing is answered before a warning.
const silent = 5

// own are the classes of failures that gobench or its machine causes.
var own = map[string]bool{"canceled": true, run.PartLost: true, "local_fd": true, "local_port": true, "blocked": true}

// outage is what is known of one operation. Its titles are of metrics; of one that is not
// declared it is empty.
type outage struct {
	operation string
	time      string
	begun     string
	ended     []string          // answered well or not, and unanswered
	classes   map[string]string // titles of the unanswered, by class

	inFlight int64   // at the end of the last interval
	since    float64 // the begin of the intervals without an answer in which operations waited
	warnAt   float64 // the number of seconds without an answer at the next warning
	answered bool    // something was, at some time
	now      span    // since the last answer, of intervals with operations
	longest  span    // of the outages that have ended
	still    span    // the longest time that has ended in which nothing was answered and it was no outage
}

// span is a time without an answer, in seconds since the begin of the load.
type span struct {
	from, to float64 // to is 0 of an empty span
	inFlight int64   // at the end
	failed   map[string]int64
}

func (s span) length() float64 { return s.to - s.from }

// out reports whether the target was down in s.
func (s span) out() bool {
	failed := int64(0)
	for _, n := range s.failed {
		failed += n
	}
	return failed >= max(enoughFailed, s.inFlight)
}

// causes returns the classes of the failures in s with their numbers, the most frequent first,
// at most three.
func (s span) causes() string {
	classes := slices.SortedFunc(maps.Keys(s.failed), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.failed[b], s.failed[a]), cmp.Compare(a, b))
	})
	var all []string
	for _, class := range classes[:min(len(classes), 3)] {
		all = append(all, units.Count(s.failed[class])+" "+class)
	}
	return strings.Join(all, ", ")
}

// declare finds the operations among the metrics of a run, of which it needs to see only those
// since the last call.
func (o *outages) declare(metrics []run.Metric) {
	for ; o.declared < len(metrics); o.declared++ {
		m := metrics[o.declared]
		class := m.Role == run.OpUnanswered && m.By == "error"
		if !class && (!m.Whole() || !slices.Contains([]run.Role{run.OpBegun, run.OpOK, run.OpFailed, run.OpUnanswered, run.OpTime}, m.Role)) {
			continue
		}
		i := slices.IndexFunc(o.all, func(x *outage) bool { return x.operation == m.Of })
		if i < 0 {
			i = len(o.all)
			o.all = append(o.all, &outage{operation: m.Of, classes: map[string]string{}, warnAt: silent})
		}
		switch x := o.all[i]; {
		case class:
			x.classes[m.Part] = m.Title
		case m.Role == run.OpTime:
			x.time = m.Title
		case m.Role == run.OpBegun:
			x.begun = m.Title
		default:
			x.ended = append(x.ended, m.Title)
		}
	}
}

// add adds the next interval; the caller must add all in the order of time, and have declared
// its metrics. It returns a text for each operation of which nothing was answered for 5 s, while
// some wait, or for twice as long as at its last warning.
func (o *outages) add(i run.Interval) (warnings []string) {
	for _, x := range o.all {
		waited := x.inFlight > 0
		x.inFlight += count(i, x.begun)
		for _, title := range x.ended {
			x.inFlight -= count(i, title)
		}
		answered := i.Metrics[x.time].Times != nil
		if answered || !waited {
			x.since = i.From
		}
		if now := i.From + i.Seconds - x.since; !answered && x.inFlight > 0 && now >= x.warnAt {
			warnings = append(warnings, fmt.Sprintf("nothing of %s was answered for %s, %s waiting", x.operation, units.Seconds(now), units.Count(x.inFlight)))
			x.warnAt = 2 * now
		}
		if answered { // a histogram has recordings if something was answered
			longest := &x.still
			if x.now.out() {
				longest = &x.longest
			}
			if x.now.length() > longest.length() {
				*longest = x.now
			}
			x.answered, x.now = true, span{}
			continue
		}
		if !x.answered || o.drain {
			continue
		}
		for class, title := range x.classes {
			if n := count(i, title); n > 0 && !own[class] {
				if x.now.failed == nil {
					x.now.failed = map[string]int64{}
				}
				x.now.failed[class] += n
			}
		}
		if x.now.to == 0 {
			x.now.from = i.From
		}
		if x.now.failed != nil || x.inFlight > 0 {
			x.now.to, x.now.inFlight = i.From+i.Seconds, x.inFlight
		}
	}
	return warnings
}

// count returns what a counter gained in an interval, 0 for one that the run does not have.
func count(i run.Interval, title string) int64 {
	if n := i.Metrics[title].Count; n != nil {
		return *n
	}
	return 0
}

// notes describes the outages of a run that has ended: of each operation the one that lasts,
// else the longest; without one the longest time in which nothing was answered, if it is much longer
// than most answers took. Those of an operation that never had an answer are left out. metrics are
// the run's.
func (o *outages) notes(metrics []run.Metric) (notes []string) {
	for _, x := range o.all {
		switch {
		case x.now.out():
			notes = append(notes, fmt.Sprintf("the target went down: from %s on nothing of %s was answered (%s)", units.Seconds(x.now.from), x.operation, x.now.causes()))
		case x.longest.to > 0:
			notes = append(notes, fmt.Sprintf("the target was down at least from %s to %s: nothing of %s was answered (%s)", units.Seconds(x.longest.from), units.Seconds(x.longest.to), x.operation, x.longest.causes()))
		case x.still.length() > muchLonger*x.usual(metrics):
			notes = append(notes, fmt.Sprintf("nothing of %s was answered at least from %s to %s, with %s in flight at the end", x.operation, units.Seconds(x.still.from), units.Seconds(x.still.to), units.Count(x.still.inFlight)))
		}
	}
	return notes
}

// muchLonger is how many times longer than most answers take a time without one must be to be noted.
const muchLonger = 5

// usual returns the median time of an operation, in seconds; +Inf if it has none.
func (x *outage) usual(metrics []run.Metric) float64 {
	for _, m := range metrics {
		if m.Title == x.time && m.Times != nil && m.Times.P50.Known() {
			return float64(m.Times.P50) / 1000
		}
	}
	return math.Inf(1)
}
