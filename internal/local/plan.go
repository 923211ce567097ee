package local

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/local/doctor"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/measure/monitor"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
	"github.com/gobench-io/gobench/internal/wire"
)

// plan returns the executor's start, which is the whole load, stores the classes in the
// result, and emits the step before the load. The error is that of monitor.Thresholds.
func (r *load) plan(h *wire.Hello) (*wire.Start, error) {
	r.result.Environment.Go = h.Go
	r.Log.Info("the executor has connected", "pid", h.Pid, "gobench", h.Version, "go", h.Go, "classes", len(h.Classes), "thresholds", len(h.Thresholds))
	thresholds, err := monitor.Thresholds(h, r.Thresholds, r.Interval, r.Config.Target != "")
	if err != nil {
		return nil, err
	}
	r.tally.Thresholds(thresholds)
	start := &wire.Start{Run: r.result.ID, Seed: r.Seed, IntervalNs: int64(r.Interval), DurationNs: int64(r.Duration),
		GracefulNs: int64(r.Graceful), Patient: r.Patient, Hold: r.Hold, WarmupNs: int64(r.Warmup), Verbose: r.verbose, Profiles: r.Profiles}
	var users int64
	for _, c := range h.Classes {
		users += c.Nu
		start.Shares = append(start.Shares, &wire.Share{Nu: c.Nu, Rate: c.Rate, Iterations: c.Iterations, Part: 1})
	}
	r.result.Config.Classes = append(r.result.Config.Classes, monitor.Classes(h)...)
	if r.Once {
		once(start, r.result.Config.Classes, r.OnceIterations)
	}
	r.warnOfOpenFiles()
	r.emit(event.Event{Kind: event.Step, Text: settingUp(users, &r.result.Environment), Plan: monitor.Plan(h.Classes, r.Duration, r.Hold, r.Warmup)})
	return start, nil
}

// onceLimit ends a run of Once in which a Fu does not return. An iteration that is under
// way is waited for, as in any run.
const onceLimit = 10 * time.Second

// once reduces a start and its classes, in place, to one user of each class with this number
// of iterations; 0 means one. There must be a class for each share.
func once(start *wire.Start, classes []run.Class, iterations int64) {
	start.Once, start.DurationNs, start.Hold, start.WarmupNs = true, int64(onceLimit), false, 0
	for i, s := range start.Shares {
		s.Nu, s.Rate, s.Iterations = 1, 0, iterations
		c := &classes[i]
		c.Users, c.Rate, c.Load, c.Closed, c.Starts, c.StartsFor = 1, 0, "once", true, 0, 0
	}
}

// seen passes on what the executor shows, and counts it but for records of a log. Without
// Options.Seen it does nothing.
func (r *load) seen(m *wire.Seen) {
	if r.Seen == nil {
		return
	}
	switch {
	case m.Log:
	case strings.HasPrefix(m.Text, "* "): // a check or a step
		r.remarks++
	default:
		r.exchanges++
	}
	r.Seen(m)
}

// noteOnce adds notes to the result where Once did not show everything.
func (r *load) noteOnce() {
	note := func(format string, args ...any) {
		r.result.Notes = append(r.result.Notes, fmt.Sprintf(format, args...))
	}
	if r.exchanges >= wire.MaxSeen {
		note("only the first %d exchanges are shown", wire.MaxSeen)
	}
	if r.remarks >= wire.MaxRemarks {
		note("only the first %d checks and steps are shown", wire.MaxRemarks)
	}
	if r.tally.Merger.End() >= onceLimit {
		note("not every user was done after %v, and the run was ended: a Fu that never returns has no one iteration", onceLimit)
	}
}

// warnOfOpenFiles warns, by an event and a note of the result, if there are more users than
// this machine has open files for. The run continues: users may share connections. Call it
// once the classes are in the result.
func (r *load) warnOfOpenFiles() {
	x := r.result
	var users int64
	for _, c := range x.Config.Classes {
		users += c.Users
	}
	carried := int64(doctor.Users(x.Environment.OpenFiles))
	if x.Environment.OpenFiles == 0 || users <= carried {
		return
	}
	note := fmt.Sprintf("%s users on a limit of %s open files: if each has a connection of its own, about %s connect, and what the others do fails with class local_fd",
		units.Count(users), units.Count(int64(x.Environment.OpenFiles)), units.Count(carried))
	x.Notes = append(x.Notes, note)
	warning := fmt.Sprintf("warning: %s\nThe run continues, and is INVALID if that happens. Any of these lifts the limit (gobench doctor lists more):", note)
	highest, _ := os.ReadFile("/proc/sys/fs/nr_open")
	n, _ := strconv.ParseUint(strings.TrimSpace(string(highest)), 10, 64) // 0 if unknown
	for _, lift := range doctor.FileLifts(n) {
		warning += fmt.Sprintf("\n  %-21s %s", lift.Where+":", lift.Command)
	}
	r.emit(event.Event{Kind: event.Warning, Text: warning})
}

// settingUp returns the text, without a newline, of the step before the load: "setting up N
// users", and "; N open files are allowed" if there is a limit.
func settingUp(users int64, e *run.Environment) string {
	s := fmt.Sprintf("setting up %s users", units.Count(users))
	if e.OpenFiles > 0 && e.OpenFiles < 1<<40 { // else there is no limit
		s += fmt.Sprintf("; %s open files are allowed", units.Count(int64(e.OpenFiles)))
	}
	return s
}
