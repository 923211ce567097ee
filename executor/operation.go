package executor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/load/conn"
	"github.com/gobench-io/gobench/internal/measure/delay"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// Operations are the metrics of one kind of operation of a client, such as the commands of a
// Redis client. All users of a run share them; any number of goroutines may use them at once.
type Operations struct {
	name string

	begun, ok, failed, unanswered, bytes meter.Meter
	latency, age                         meter.Meter
	lost                                 meter.Meter              // of errors; never counted here
	statuses, errors                     meter.Named[meter.Meter] // by class
}

// maxClasses limits the classes of failures, and those of errors, of one kind of operation, so
// that a class with an id in it does not use up a run's metrics. Further classes count as
// otherClass.
const (
	maxClasses = 40
	otherClass = "other"
)

// Operations declares the metrics of a kind of operation, and returns them. Declaring the same
// name again is normal, since each user creates its own client, and costs one map read. name
// begins their titles:
//
//	NAME.begun             counter    operations that began
//	NAME.ok                counter    answered well
//	NAME.failed            counter    answered with a failure
//	NAME.status.CLASS      counter    of those, by class
//	NAME.unanswered        counter    ended without an answer
//	NAME.error.CLASS       counter    of those, by class; lost: their executor ended first
//	NAME.latency           histogram  ns, of answered operations
//	NAME.age               histogram  ns, how long unanswered ones had waited
//	NAME.bytes             counter    bytes of the answers
//
// Once all have ended, begun = ok + failed + unanswered. Reports, thresholds, guards, the live
// view and comparisons treat them as those of gobench's own clients. The errors are those of
// [Recorder.Setup].
func (r *Recorder) Operations(name string) (*Operations, error) {
	return r.names().operations.Get(name, r.declareOperations)
}

// declareOperations declares the metrics of name that every kind of operation has. Those of
// classes are declared on first use.
func (r *Recorder) declareOperations(name string) (*Operations, error) {
	o := &Operations{name: name}
	of := func(title string, role run.Role, m *meter.Meter) meter.One {
		return metric(name+"."+title, run.Counts{Role: role, Of: name}, m)
	}
	for _, d := range []struct {
		graph metrics.Graph
		kind  metrics.Type
		all   []meter.One
	}{
		{metrics.Graph{Title: "Operations", Unit: "N"}, metrics.Counter, []meter.One{of("begun", run.OpBegun, &o.begun),
			of("ok", run.OpOK, &o.ok), of("failed", run.OpFailed, &o.failed), of("unanswered", run.OpUnanswered, &o.unanswered)}},
		{metrics.Graph{Title: "error lost", Unit: "N"}, metrics.Counter, []meter.One{metric(name+".error."+run.PartLost, run.Counts{Role: run.OpUnanswered, Of: name, By: "error", Part: run.PartLost}, &o.lost)}},
		{metrics.Graph{Title: "Latency", Unit: "ns"}, metrics.Histogram, []meter.One{of("latency", run.OpTime, &o.latency)}},
		{metrics.Graph{Title: "Age of unanswered operations", Unit: "ns"}, metrics.Histogram, []meter.One{of("age", run.OpAge, &o.age)}},
		{metrics.Graph{Title: "Bytes", Unit: "B"}, metrics.Counter, []meter.One{of("bytes", run.Bytes, &o.bytes)}},
	} {
		if err := r.Registry.DeclareGraph(name, d.graph, d.kind, d.all...); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// class returns the meter of a class of failures or errors, which it declares on first use;
// beyond maxClasses about that of otherClass. by is "status" or "error". If it can't be declared,
// that is counted as an error, and known is false.
func (op *Operation) class(all *meter.Named[meter.Meter], by, class string, role run.Role) (m meter.Meter, known bool) {
	if !all.Has(class) {
		if class = strings.Clone(printable(class)); !all.Has(class) && all.Len() >= maxClasses { // the clone: it may be a part of a large answer
			class = otherClass
		}
	}
	m, err := all.Get(class, func(class string) (m meter.Meter, err error) {
		o, graph := op.of, metrics.Graph{Title: by + " " + class, Unit: "N"}
		err = op.recorder.Registry.DeclareGraph(o.name, graph, metrics.Counter, metric(o.name+"."+by+"."+class, run.Counts{Role: role, Of: o.name, By: by, Part: class}, &m))
		return m, err
	})
	if err != nil {
		op.recorder.Registry.Failed(op.phase, op.of.name, "declare", err.Error())
	}
	return m, err == nil
}

// maxClass is the length of the part of a class that is in a title, bytes.
const maxClass = 60

// printable returns class as a part of a title: without characters that do not print, and cut.
func printable(class string) string {
	class = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			return r
		}
		return -1
	}, class)
	for len(class) > maxClass {
		_, last := utf8.DecodeLastRuneInString(class)
		class = class[:len(class)-last]
	}
	return cmp.Or(class, otherClass)
}

// Operation is an operation in flight, from [Recorder.Operation] to the first call of OK,
// Failed, Unanswered or Error, which counts it; later calls do nothing. Exactly one goroutine
// at a time may use it. It must not be copied.
type Operation struct {
	recorder *Recorder
	of       *Operations
	ctx      context.Context
	began    time.Duration // on the clock of conn.Now
	phase    meter.Phase
	open     bool
}

// Operation begins an operation, and counts it as begun. The caller must end it by OK, Failed,
// Unanswered or Error. It lasts timeout at most, or until ctx's deadline if that is earlier,
// which the caller sees to; 0 means that there is no limit. The end of a run waits as long for
// the operations in flight.
//
// It returns ctx's error if ctx has ended, and context.Canceled to a user whose work is a
// single call of Fu while the run is stopping. The client must then not do the operation, and
// return that error; nothing is counted, and the Operation's methods do nothing.
func (r *Recorder) Operation(ctx context.Context, of *Operations, timeout time.Duration) (Operation, error) {
	if err := ctx.Err(); err != nil {
		return Operation{}, err
	}
	if end, ok := ctx.Deadline(); ok {
		if left := time.Until(end); timeout == 0 || left < timeout {
			timeout = max(left, 1)
		}
	}
	s := (*meter.Scope)(r)
	if err := s.Begin(timeout); err != nil {
		return Operation{}, err
	}
	op := Operation{recorder: r, of: of, ctx: ctx, phase: s.Phase(), began: conn.Now(), open: true}
	s.BeginTime(op.began)
	of.begun.RecordIn(op.phase, 1)
	return op, nil
}

// OK ends the operation as answered well, by an answer of so many bytes.
func (op *Operation) OK(bytes int64) {
	if !op.open {
		return
	}
	took, own := op.took()
	e := op.recorder.Registry.Entry(op.phase)
	e.Add(op.of.ok, 1)
	e.RecordTime(op.of.latency, took, own)
	e.Add(op.of.bytes, bytes)
	e.Close()
	op.end()
	(*meter.Scope)(op.recorder).Sent()
	op.recorder.remark(func() string { return fmt.Sprintf("%s: ok after %s, %d B", op.of.name, shown(took), bytes) })
}

// Failed ends the operation as answered with a failure. class is one of a few words of the
// protocol, such as "MOVED" or "UNAVAILABLE", of which the first 40 are counted separately. The
// first 3 of each are shown in the report.
func (op *Operation) Failed(class string) {
	if !op.open {
		return
	}
	o, r := op.of, op.recorder
	took := op.ended(&o.statuses, "status", class, run.OpFailed, o.failed, o.latency)
	(*meter.Scope)(r).Sent()
	r.remark(func() string { return fmt.Sprintf("%s: answered %s after %s", o.name, class, shown(took)) })
	r.Sample(o.name, class, func() Exchange {
		return Exchange{What: o.name + " was answered " + class, Began: time.Now().Add(-took), Parts: []Part{{Name: "after", Took: took}}}
	})
}

// Unanswered ends the operation as one without an answer. class is a word such as "timeout" or
// "reset", of which the first 40 are counted separately; "canceled" means that the end of the
// run or the scenario cut it, which is no failure of the target. Error is Unanswered for errors
// of the net package and of contexts.
func (op *Operation) Unanswered(class string) {
	if op.open {
		op.lost(class, class)
	}
}

// Error ends the operation as one without an answer because of err: its class is ctx's error if
// ctx has ended, else one of refused, reset, timeout, dns, tls, eof, too_large, protocol,
// local_fd, local_port, proxy, blocked, canceled and other. Error returns an error that wraps
// err, and which a scenario returns without counting it a second time.
func (op *Operation) Error(err error) error {
	if !op.open {
		return err
	}
	if ended := op.ctx.Err(); ended != nil {
		err = ended // whatever error that caused
	}
	op.lost(conn.Classify(err).String(), conn.Text(err))
	return &operationError{op.of.name, err}
}

// took returns how long the operation has lasted, and how much of that is gobench's own: what the
// whole process was stopped at its end.
func (op *Operation) took() (took time.Duration, own delay.Own) {
	now := conn.Now()
	return now - op.began, (*meter.Scope)(op.recorder).EndTime(op.began, now, delay.Waited(op.began, now))
}

// ended counts an operation that did not end well, under its outcome and under a class of those of
// by, and ends it. It returns how long the operation took, which it records in times.
func (op *Operation) ended(all *meter.Named[meter.Meter], by, class string, role run.Role, outcome, times meter.Meter) time.Duration {
	took, own := op.took()
	m, known := op.class(all, by, class, role)
	e := op.recorder.Registry.Entry(op.phase)
	if known {
		e.Add(m, 1)
	}
	e.Add(outcome, 1)
	e.RecordTime(times, took, own)
	e.Close()
	op.end()
	return took
}

// lost counts an operation without an answer, and ends it. After many in a row that failed before
// the network it waits: see meter.Scope.Unsent.
func (op *Operation) lost(class, text string) {
	o, r := op.of, op.recorder
	unsent := slices.ContainsFunc([]conn.Class{conn.DNS, conn.LocalFD, conn.LocalPort, conn.Blocked}, func(c conn.Class) bool { return c.String() == class })
	if unsent {
		defer (*meter.Scope)(r).Unsent(op.ctx)
	} else {
		(*meter.Scope)(r).Sent()
	}
	waited := op.ended(&o.errors, "error", class, run.OpUnanswered, o.unanswered, o.age)
	r.remark(func() string { return fmt.Sprintf("%s: no answer after %s: %s", o.name, shown(waited), text) })
	if class == conn.Canceled.String() {
		return
	}
	r.Registry.Failed(op.phase, o.name, class, text)
	r.Sample(o.name, class, func() Exchange {
		return Exchange{What: o.name + " was not answered", Began: time.Now().Add(-waited), Parts: []Part{{Name: "after", Took: waited}}, Error: text}
	})
}

func (op *Operation) end() {
	op.open = false
	op.recorder.End()
}

func shown(d time.Duration) string { return units.Millis(d.Seconds() * 1e3) }

// operationError is the error of an operation without an answer.
type operationError struct {
	name string
	err  error
}

func (e *operationError) Error() string { return e.name + ": " + e.err.Error() }
func (e *operationError) Unwrap() error { return e.err }

// Counted reports that this failure is counted: see Time.
func (e *operationError) Counted() bool { return true }
