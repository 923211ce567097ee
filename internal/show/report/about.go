package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// about writes what was run, where and by what; unless the report is full, of at most four
// classes of users.
func (t *text) about(r *run.Result) {
	t.title("Run")
	field := func(name, format string, args ...any) {
		t.say(fmt.Sprintf("  %-9s ", name), fmt.Sprintf(format, args...))
	}
	if r.Warmup > 0 {
		field("warm-up", "%s of %s, left out of the figures", units.Seconds(r.Warmup), units.Seconds(r.Seconds))
	}
	if n, what := later(r); n > 0 {
		field("drain", "%s %s ended after the load, at most %s later: they are counted, and in no rate", units.Count(n), what, units.Seconds(r.Seconds-r.Measured-r.Warmup))
	}
	if to := target(r); to != "" {
		field("target", "%s", to)
	}
	classes := r.Config.Classes[:t.limit(len(r.Config.Classes), maxClasses)]
	for i, c := range classes {
		field("load", "%s: %s", units.Safe(c.Name), load(c))
		if c.Closed && (i == len(classes)-1 || !classes[i+1].Closed) { // below the last of those in a row
			field("", "a closed load: who waits for an answer sends nothing, so queueing can't be seen")
		}
	}
	for _, c := range classes {
		if parts := fate(r, c); parts != "" {
			field("users", "%s: %s", units.Safe(c.Name), parts)
		}
	}
	if r.Environment.CPUs > 0 {
		field("machine", "%s", machine(r))
	}
	field("gobench", "%s, run %s, seed %d", units.Safe(r.Gobench), units.Safe(r.ID), r.Config.Seed)
}

// target returns the target of the load: a built-in's target, or the scenario's file; "" if
// neither is known.
func target(r *run.Result) string {
	if r.Config.Target != "" {
		return units.Safe(r.Config.Target)
	}
	return units.Safe(r.Config.Scenario)
}

// later returns how many operations, or without a client iterations, ended after the measured
// time, and what they are called.
func later(r *run.Result) (n int64, what string) {
	what, role := "iterations", []run.Role{run.ClassDone, run.ClassCut}
	if r.Outcome().Clients() {
		what, role = "requests", []run.Role{run.OpOK, run.OpFailed, run.OpUnanswered}
	}
	for _, m := range r.Metrics {
		if m.Later != nil && m.Whole() && slices.Contains(role, m.Role) {
			n += *m.Later
		}
	}
	if n == 1 {
		what = strings.TrimSuffix(what, "s")
	}
	return n, what
}

// load describes the users of a class and the load that they make, in words that are safe for
// a terminal: "100 users, all started at once, LOAD".
func load(c run.Class) string {
	start := "all started at once"
	if c.Rate > 0 {
		start = fmt.Sprintf("%s started/s (Poisson)", units.Rate(c.Rate))
	}
	return fmt.Sprintf("%s, %s, %s", people(c.Users), start, units.Safe(c.Load))
}

// people returns the number of users with their unit, "1 user" or "n users".
func people(n int64) string {
	if n == 1 {
		return "1 user"
	}
	return units.Count(n) + " users"
}

func machine(r *run.Result) string {
	e := r.Environment
	if e.CPUs == 0 {
		return "" // of several hosts, or unknown
	}
	return strings.TrimSpace(fmt.Sprintf("%d CPUs %s, %s/%s %s", e.CPUs, units.Safe(e.CPU), units.Safe(e.OS), units.Safe(e.Arch), units.Safe(e.Kernel)))
}

// fate describes the outcome of a class's users and iterations, with commas between; "" if
// there is nothing to say. After a warm-up users are left out if all have started, and in results of an
// older gobench, which do not count those that did so in it.
func fate(r *run.Result, c run.Class) string {
	one := strings.NewReplacer("panics", "panic", "iterations", "iteration", "starts", "start")
	var parts []string
	var planned int64
	started, finished := run.Find(r.Metrics, run.Counts{Role: run.ClassStarted, Of: c.Name}), run.Find(r.Metrics, run.Counts{Role: run.ClassFinished, Of: c.Name})
	all := started == nil || started.Count == nil || *started.Count == c.Users || finished != nil && finished.Count != nil && *finished.Count > *started.Count
	for _, m := range r.Metrics {
		life := m.Role == run.ClassStarted || m.Role == run.ClassFinished
		if !m.Role.OfClass() || m.Of != c.Name || m.Count == nil || m.Type != run.Counter || *m.Count == 0 && !life || life && r.Warmup > 0 && all {
			continue
		}
		say := func(format string) {
			if *m.Count == 1 {
				format = one.Replace(format)
			}
			parts = append(parts, fmt.Sprintf(format, units.Count(*m.Count)))
		}
		switch m.Role {
		case run.ClassStarted:
			say("%s started")
		case run.ClassFinished:
			say("%s finished")
		case run.ClassPanics:
			say("%s panics")
		case run.ClassFailed:
			say("%s iterations failed")
		case run.ClassPlanned:
			planned = *m.Count
			say("%s starts planned (" + units.Rate(*m.RPS) + "/s)")
		case run.ClassBegun:
			if *m.Count < planned {
				say("%s of them begun (" + units.Rate(*m.RPS) + "/s)")
			}
		case run.ClassLate:
			say("%s of them late, for want of a free user")
		case run.ClassDropped:
			say("%s of them dropped")
		case run.ClassUnserved:
			say("%s of them unserved at the load's end")
		case run.ClassVoid:
			say("%s found no data left")
		case run.ClassCut:
			say("%s more cut short by the run's end")
		case run.ClassLost:
			say("%s more lost with an executor")
		}
	}
	return strings.Join(parts, ", ")
}
