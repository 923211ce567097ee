package report

import (
	"strconv"
	"strings"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// fact is something that a reader of figures has to know of their run.
type fact struct{ name, text string }

// facts returns what every format states of a run: what was run, on what, how it ended, and
// whether its figures can be trusted. Their texts are safe, and some may be empty.
func facts(r *run.Result) []fact {
	all := []fact{
		{"run", units.Safe(r.ID)},
		{"name", units.Safe(r.Name)},
		{"state", ending(r)},
		{"complete", strconv.FormatBool(r.Complete)},
		{"verdict", string(r.Verdict)},
		{"target", target(r)},
		{"concurrency", people(users(r))},
		{"load", loads(r)},
		{"duration", units.Seconds(r.Seconds)},
	}
	if r.Warmup > 0 {
		all = append(all, fact{"warmup", units.Seconds(r.Warmup) + ", left out of the totals"})
	}
	if len(r.Hosts) > 0 {
		all = append(all, fact{"hosts", hostsLine(r)})
	}
	all = append(all, fact{"gobench", units.Safe(r.Gobench)})
	if m := machine(r); m != "" {
		all = append(all, fact{"machine", m})
	}
	return append(all, fact{"seed", strconv.FormatUint(r.Config.Seed, 10)})
}

// users returns the maximum number of users of a run.
func users(r *run.Result) (n int64) {
	for _, c := range r.Config.Classes {
		n += c.Users
	}
	return n
}

// loads describes the load of each class of users, in one text with "; " between.
func loads(r *run.Result) string {
	var all []string
	for _, c := range r.Config.Classes {
		s := units.Safe(c.Name) + ": " + load(c)
		if c.Closed {
			s += " (closed)"
		}
		all = append(all, s)
	}
	return strings.Join(all, "; ")
}
