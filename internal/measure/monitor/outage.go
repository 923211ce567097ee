package monitor

import (
	"fmt"
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
		if m.Lost == nil || *m.Lost == 0 || m.Count == nil || *m.Count > 0 {
			continue
		}
		client := strings.TrimSuffix(m.Title, ".latency")
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
	drain   bool               // no operations begin any more: that only slow ones are left, and time out, is no outage
	clients map[string]*outage // by the title of the histogram of their operations; added at the first answer
}

type outage struct {
	open bool // nothing has been answered since from
	from float64

	begin, end float64 // the longest outage that has ended
}

// add adds the next interval; the caller must add all in the order of time.
func (o *outages) add(i run.Interval) {
	if o.clients == nil {
		o.clients = map[string]*outage{}
	}
	for title, r := range i.Metrics {
		if strings.HasSuffix(title, ".latency") && r.Times != nil && o.clients[title] == nil {
			o.clients[title] = new(outage)
		}
	}
	for title, c := range o.clients {
		if r := i.Metrics[title]; r.Times != nil { // a histogram has recordings if something was answered
			if c.open && i.From-c.from > c.end-c.begin {
				c.begin, c.end = c.from, i.From
			}
			c.open = false
			continue
		}
		for _, lost := range run.LostTitles(title) {
			n := count(i, lost)
			if o.drain {
				n -= count(i, strings.TrimSuffix(title, ".latency")+".error.timeout")
			}
			if n > 0 && !c.open {
				c.open, c.from = true, i.From
			}
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

// notes describes the outages of a run that has ended: of each client the one that lasts,
// else the longest. The outages of a client that never had an answer are left out.
func (o *outages) notes(r *run.Result) (notes []string) {
	for _, m := range r.Metrics { // in their order
		c := o.clients[m.Title]
		if c == nil {
			continue
		}
		client := strings.TrimSuffix(m.Title, ".latency")
		class := ""
		for _, f := range r.Errors {
			if f.Source == client {
				class = " (" + f.Class + ")"
				break
			}
		}
		switch {
		case c.open:
			notes = append(notes, fmt.Sprintf("the target went down: from %s on nothing of %s was answered%s", units.Seconds(c.from), client, class))
		case c.end > c.begin:
			notes = append(notes, fmt.Sprintf("the target was down from %s to %s: nothing of %s was answered%s", units.Seconds(c.begin), units.Seconds(c.end), client, class))
		}
	}
	return notes
}
