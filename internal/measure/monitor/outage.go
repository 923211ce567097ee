package monitor

import (
	"fmt"
	"slices"

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

// outages finds the times in which a target that had answered before did not answer.
type outages struct {
	drain    bool // no operations begin any more: that only slow ones are left, and time out, is no outage
	declared int  // number of metrics that were looked through for operations
	all      []*outage
}

// outage is what is known of one kind of operation. Its first four fields are titles of
// metrics; one that is not declared is empty.
type outage struct {
	operation  string
	time       string
	unanswered string
	timeout    string

	answered bool // something was, at some time
	open     bool // nothing has been answered since from
	from     float64

	begin, end float64 // the longest outage that has ended
}

// declare finds the operations among the metrics of a run, of which it needs to see only those
// since the last call.
func (o *outages) declare(metrics []run.Metric) {
	for ; o.declared < len(metrics); o.declared++ {
		m := metrics[o.declared]
		if m.Of == "" {
			continue
		}
		timeout := m.Role == run.OpUnanswered && m.By == "error" && m.Part == "timeout"
		if !timeout && (!m.Whole() || m.Role != run.OpTime && m.Role != run.OpUnanswered) {
			continue
		}
		i := slices.IndexFunc(o.all, func(x *outage) bool { return x.operation == m.Of })
		if i < 0 {
			i = len(o.all)
			o.all = append(o.all, &outage{operation: m.Of})
		}
		switch x := o.all[i]; {
		case timeout:
			x.timeout = m.Title
		case m.Role == run.OpTime:
			x.time = m.Title
		default:
			x.unanswered = m.Title
		}
	}
}

// add adds the next interval; the caller must add all in the order of time, and have declared
// its metrics.
func (o *outages) add(i run.Interval) {
	for _, x := range o.all {
		if i.Metrics[x.time].Times != nil { // a histogram has recordings if something was answered
			if x.open && i.From-x.from > x.end-x.begin {
				x.begin, x.end = x.from, i.From
			}
			x.answered, x.open = true, false
			continue
		}
		n := count(i, x.unanswered)
		if o.drain {
			n -= count(i, x.timeout)
		}
		if x.answered && n > 0 && !x.open {
			x.open, x.from = true, i.From
		}
	}
}

// count returns what a counter gained in an interval, 0 for one that the run does not have.
func count(i run.Interval, title string) int64 {
	if n := i.Metrics[title].Count; n != nil {
		return *n
	}
	return 0
}

// notes describes the outages of a run that has ended: of each operation the one that lasts,
// else the longest. The outages of one that never had an answer are left out.
func (o *outages) notes(r *run.Result) (notes []string) {
	for _, x := range o.all {
		class := ""
		for _, f := range r.Errors {
			if f.Source == x.operation {
				class = " (" + f.Class + ")"
				break
			}
		}
		switch {
		case x.open:
			notes = append(notes, fmt.Sprintf("the target went down: from %s on nothing of %s was answered%s", units.Seconds(x.from), x.operation, class))
		case x.end > x.begin:
			notes = append(notes, fmt.Sprintf("the target was down from %s to %s: nothing of %s was answered%s", units.Seconds(x.begin), units.Seconds(x.end), x.operation, class))
		}
	}
	return notes
}
