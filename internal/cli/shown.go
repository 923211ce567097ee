package cli

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/measure/threshold"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/system"
	"github.com/gobench-io/gobench/internal/show/live"
	"github.com/gobench-io/gobench/internal/show/report"
)

// shownRun is what a run on this machine and a run of a master have in common as a command line
// sees them: the view, the keys, the reports. All but the last three fields must be set before
// the view is opened.
type shownRun struct {
	*app
	load   loadFlags
	view   view
	stop   func()                   // what the key s does; it returns at once
	change func(event.Change) error // changes the load, and returns when that is done

	loading  atomic.Bool    // the load is running
	steering sync.Mutex     // held while a key changes the load
	requests sync.WaitGroup // of signals and keys
}

// event passes an event of the run to the view. Intervals are left out with --once, and
// with --quiet unless --json is set. It also records whether the load is running, for
// steer.
func (r *shownRun) event(e event.Event) {
	switch e.Kind {
	case event.State:
		r.loading.Store(e.State == run.Running)
	case event.Interval:
		if r.load.inside.once || r.load.quiet && !r.load.json {
			return
		}
	}
	r.view.Show(e)
}

// emit is event for what this command line does itself, at the current time.
func (r *shownRun) emit(e event.Event) {
	e.Time = time.Now()
	r.event(e)
}

// press handles a key of the terminal: s stops the run, q is as Ctrl-C, those of changesOf
// change the load, others do nothing. It does not wait for the change. The terminal's
// goroutine calls it.
func (r *shownRun) press(key byte, look func(func(*live.Run))) {
	switch key {
	case 'q', 'Q': // as Ctrl-C
		system.Interrupt()
	case 's', 'S':
		r.stop()
	default:
		if changes := changesOf(key); changes != nil {
			r.steer(look, changes)
		}
	}
}

// changesOf returns a function that returns what a key changes of the load, from the state
// of the run, or none if there is nothing to change; nil for other keys. Call that
// function only within look (live.Press).
func changesOf(key byte) func(*live.Run) []event.Change {
	switch key {
	case 'p', 'P':
		return func(r *live.Run) []event.Change {
			if r.Paused() {
				return []event.Change{{What: "resume"}}
			}
			return []event.Change{{What: "pause"}}
		}
	case '+', '=':
		return func(r *live.Run) []event.Change { return r.Steer(1.1, time.Now()) }
	case '-', '_':
		return func(r *live.Run) []event.Change { return r.Steer(1/1.1, time.Now()) }
	}
	return nil
}

// steer makes changes of the load, in a goroutine of r.requests. It does nothing if no load
// is running, or while the previous changes are being made. An error is shown as a note,
// and the remaining changes are made anyway.
func (r *shownRun) steer(look func(func(*live.Run)), changes func(*live.Run) []event.Change) {
	if !r.loading.Load() || !r.steering.TryLock() {
		return
	}
	r.requests.Go(func() {
		defer r.steering.Unlock()
		var all []event.Change
		look(func(run *live.Run) { all = changes(run) })
		for _, c := range all {
			c.By = "a key"
			if err := r.change(c); err != nil {
				r.emit(event.Event{Kind: event.Note, Text: "the load is unchanged: " + err.Error()})
			}
		}
	})
}

// text returns where the report for people goes: standard output, or standard error if
// --json or an -o uses standard output.
func (r *shownRun) text() io.Writer {
	if r.load.json || r.load.toStandard() {
		return r.stderr
	}
	return r.stdout
}

// report writes the reports that -o asks for, and then the text, also if a report failed. dir
// is the run's folder in the history, or empty. An error has exit status 1 and the hint again.
func (r *shownRun) report(outputs report.Outputs, x *run.Result, series report.Intervals, dir, again string) error {
	err := outputs.Write(x, series)
	text := r.text()
	var shown error
	if r.load.inside.once {
		shown = report.Once(text, x)
	} else {
		shown = report.Text(text, x, report.Screen{Style: styleOf(text), Dir: dir})
	}
	if shown != nil {
		err = errors.Join(fmt.Errorf("write the report: %w", shown), err)
	}
	if err != nil {
		return &exitError{exitFailed, err, again}
	}
	return nil
}

// exitOf returns the exit status of a run that was finished or cancelled, as an error; nil for
// 0. That of a cancelled one has no text.
func exitOf(r *run.Result, e run.Exit) error {
	switch status := r.ExitStatus(e); status {
	case exitOK:
		return nil
	case exitCrossed:
		crossed := 0
		for _, t := range r.Thresholds {
			if t.Crossed() {
				crossed++
			}
		}
		return &exitError{status, fmt.Errorf("%d of %d thresholds crossed", crossed, len(r.Thresholds)), ""}
	case exitInvalid:
		if why := r.Incomplete(); e.Strict.Incomplete && why != "" && !(e.Strict.Invalid && r.Verdict == run.Invalid) {
			return &exitError{status, fmt.Errorf("the run is incomplete (--strict): %s", why), ""}
		}
		return &exitError{status, fmt.Errorf("the run is %s (--strict)", r.Verdict), "its reasons are in the report's first lines; docs/truth.md explains them"}
	case exitUndecided:
		for _, t := range r.Thresholds {
			if t.Undecided {
				return &exitError{status, fmt.Errorf("threshold %q is not decided (--strict): %s", t.Expression, t.Reason), "run it again for longer, or where gobench is not disturbed"}
			}
		}
		return &exitError{status: status}
	case exitUsage:
		for _, t := range r.Thresholds {
			if t.Wrong || t.Absent {
				return &exitError{status, fmt.Errorf("threshold %q: %s", t.Expression, t.Reason), ""}
			}
		}
		return &exitError{status: status}
	case exitFailed:
		if r.NothingMeasured() {
			return &exitError{status, errors.New("nothing was measured: the load ended within its warm-up"), "warm up for a shorter time, or let the load last longer; --allow-failure makes this a success"}
		}
		if !r.Outcome().Clients() {
			return &exitError{status, errors.New("nothing was done: no iteration ended"), "the report's errors say why; gobench run FILE --once shows one iteration; --allow-failure makes this a success"}
		}
		return &exitError{status, errors.New("nothing was answered"), "is the target running, and does it answer (gobench http --once URL)? --allow-failure makes this a success"}
	default:
		return &exitError{status: status}
	}
}

// endOf returns the event of the end of a run with this result. Its exit status and text
// are those of err, which may be nil. A run that is not over is Failed, or Cancelled if
// err has that exit status. r must not be nil.
func endOf(r *run.Result, err error) event.Event {
	e := event.Event{Kind: event.Ended, Time: time.Now(), Run: r.ID, State: r.State, Cause: r.Cause, Verdict: r.Verdict, Exit: new(int)}
	if !r.State.Final() {
		e.State = run.Failed
	}
	if exit, ok := statusOf(err); ok {
		if *e.Exit = exit.status; exit.status == exitCancelled {
			e.State = run.Cancelled
		}
		e.Error = exit.Error()
	} else if err != nil {
		*e.Exit, e.Error = exitFailed, err.Error()
	}
	for _, t := range r.Thresholds {
		s := threshold.Standing{Expression: t.Expression, Known: true, Met: t.OK, Crossed: t.Crossed(), Undecided: t.Undecided, Value: t.Value, Reason: t.Reason}
		if t.At != nil {
			s.At = *t.At
		}
		e.Thresholds = append(e.Thresholds, s)
	}
	return e
}
