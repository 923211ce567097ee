package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
)

// maxWait is the longest time between attempts to reconnect.
const maxWait = 5 * time.Second

// maxLine is how long a line of a stream may be: an event with the totals of a run.
const maxLine = 64 << 20

// Events iterates over the events after a number (0: all that are stored), of one run or, if
// id is empty, of all: each once, in order, with its totals. It blocks until the next event
// and reconnects, without limit, when the connection breaks, no master answers, or it refuses
// with 503 or 429. A master that was restarted sends all events of its new process; if so many
// were missed that it no longer has all of them, those that it has follow. It ends after the
// last event of the run; if ctx ends or the master refuses otherwise, the last pair has the
// error.
func (c *Client) Events(ctx context.Context, id string, after uint64) iter.Seq2[types.Event, error] {
	return func(yield func(types.Event, error) bool) {
		failures := 0
		for {
			done, first := false, true
			err := c.listen(ctx, id, after, func(e types.Event) bool {
				failures = 0
				if first && e.Number < after {
					after = 0 // another numbering: of an older gobench, or of a host with another clock
				}
				if first = false; e.Number <= after {
					return true // a repeated one
				}
				after = e.Number
				done = !yield(e, nil) || id != "" && e.Kind == event.Ended
				return !done
			})
			if done {
				return
			}
			if ctx.Err() != nil {
				yield(types.Event{}, ctx.Err())
				return
			}
			if IsCode(err, types.TooOld) && after > 0 {
				after = 0 // those between are lost; the next ones show the present state
			} else if !mayRepeat(err) {
				yield(types.Event{}, err)
				return
			}
			if c.broken != nil {
				c.broken(err)
			}
			if err := c.pause(ctx, failures, err); err != nil {
				yield(types.Event{}, err)
				return
			}
			failures++
		}
	}
}

// mayRepeat reports whether a request that ended with this error (nil: a stream that ended)
// may succeed later: true but for an *Error with a status other than 503 and 429.
func mayRepeat(err error) bool {
	var refused *Error
	return !errors.As(err, &refused) || refused.Status == http.StatusServiceUnavailable || refused.Status == http.StatusTooManyRequests
}

// pause waits before the next attempt, after a number of failures before the last one, err:
// c.wait, doubled for each failure up to maxWait, or err's Retry if that is longer, times a
// random 0.5 to 1.5. It returns ctx's error if ctx ends first.
func (c *Client) pause(ctx context.Context, failures int, err error) error {
	wait := min(c.wait<<min(failures, 10), maxWait)
	var refused *Error
	if errors.As(err, &refused) {
		wait = max(wait, refused.Retry)
	}
	return pause(ctx, wait/2+rand.N(wait))
}

// Repeat calls f, with pauses, until it returns nil or an error that will not pass (see
// mayRepeat), ctx ends, or limit is over: so long the master may be restarting. It returns
// f's last error. A call of f is not interrupted at the limit.
func (c *Client) Repeat(ctx context.Context, limit time.Duration, f func() error) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for failures := 0; ; failures++ {
		err := f()
		if err == nil || !mayRepeat(err) || c.pause(limited, failures, err) != nil {
			return err
		}
	}
}

// listen reads the events of one connection until each returns false or the stream ends, which
// are no error, or the connection breaks or is silent for c.silent, whose error says so. A
// refusal is an *Error. If ctx ends, it returns an error.
func (c *Client) listen(ctx context.Context, id string, after uint64, each func(types.Event) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q := request{method: "GET", path: "/events", query: values("run", id, "totals", "true")}
	if after > 0 {
		q.header = http.Header{"Last-Event-Id": {strconv.FormatUint(after, 10)}}
	}
	answer, err := c.send(ctx, q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	silent := fmt.Errorf("the master sent nothing for %v", c.silent)
	alive := time.AfterFunc(c.silent, func() { cancel(silent) }) // the connection is dead
	defer alive.Stop()
	err = readEvents(answer.Body, func() { alive.Reset(c.silent) }, each)
	if err != nil && context.Cause(ctx) == silent {
		return silent
	}
	return err
}

// readEvents reads server-sent events until the stream ends or each returns false; both are no
// error. It calls heard for each line. An event that the end cuts off is dropped. It returns
// an error of r, and one if an event is not JSON or a line is longer than maxLine.
func readEvents(r io.Reader, heard func(), each func(types.Event) bool) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	var data []byte
	for lines.Scan() {
		heard()
		line := lines.Bytes()
		if text, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if len(data) > 0 {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(text, []byte(" "))...)
		}
		if len(line) > 0 || len(data) == 0 {
			continue
		}
		var e types.Event
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("read an event: %w", err)
		}
		data = data[:0]
		if !each(e) {
			return nil
		}
	}
	return lines.Err()
}

// Log copies the output of a run's executors, of one agent (its id) or of all if that is
// empty, to w. If several have output, a line "==> EXECUTOR <==" precedes each change of the
// executor. With follow it waits for more until the run has ended, and continues where it was,
// without limit, if the connection breaks or the master refuses with 503 or 429. It returns
// nil at the end, and else the error of w, of ctx or of the request; w may have a part then.
func (c *Client) Log(ctx context.Context, w io.Writer, id, agent string, follow bool) error {
	l := &log{w: w, after: map[string]int64{}}
	for failures := 0; ; failures++ {
		q := request{method: "GET", path: runPath(id, "/log"), query: values("agent", agent, "pieces", "true", "after", l.position())}
		if follow {
			q.query.Set("follow", "true")
		}
		some, err := c.copy(ctx, l, q)
		if some {
			failures = 0
		}
		var written *writeError
		switch {
		case err == nil, ctx.Err() != nil:
			return errors.Join(err, ctx.Err())
		case errors.As(err, &written), !follow, !mayRepeat(err):
			return err
		}
		if err := c.pause(ctx, failures, err); err != nil {
			return err
		}
	}
}

// log is a log while it is copied.
type log struct {
	w     io.Writer
	after map[string]int64 // what was written of each executor
	last  string           // the executor whose output was written last
}

// position returns what was written as "EXECUTOR:NEXT,...", for the request of the rest; ""
// before the first piece.
func (l *log) position() string {
	var all []string
	for executor, n := range l.after {
		all = append(all, executor+":"+strconv.FormatInt(n, 10))
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// writeError is an error of the writer, not of the connection.
type writeError struct{ error }

func (e *writeError) Unwrap() error { return e.error }

// copy sends a request and writes the pieces of the answer to l.w, each after its Head, and
// counts them in l. It reports whether there were any, also with an error: a *writeError if
// l.w failed. The end of the answer is no error. l.after must be made.
func (c *Client) copy(ctx context.Context, l *log, q request) (some bool, err error) {
	answer, err := c.send(ctx, q)
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	if answer.Header.Get("Content-Type") != "application/jsonl" {
		return false, c.notMaster(answer)
	}
	d := json.NewDecoder(answer.Body)
	for {
		var p run.LogPiece
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return some, nil
		}
		if err != nil {
			return some, fmt.Errorf("read a log: %w", err)
		}
		if _, err := l.w.Write(append([]byte(p.Head(l.last)), p.Data...)); err != nil {
			return some, &writeError{err}
		}
		l.after[p.Executor], l.last, some = p.Next, p.Executor, true
	}
}

// Series calls each with a run's intervals, of one agent or of all, in order, while it
// reads them. It returns the first error of each, with which it stops, and an error if the
// answer is incomplete; each was then called with those before.
func (c *Client) Series(ctx context.Context, q run.SeriesQuery, each func(run.Interval) error) error {
	query := values("agent", q.Agent, "points", number(int64(q.Points)))
	if q.From > 0 {
		query.Set("from", strconv.FormatFloat(q.From.Seconds(), 'f', -1, 64))
	}
	if q.To > 0 {
		query.Set("to", strconv.FormatFloat(q.To.Seconds(), 'f', -1, 64))
	}
	answer, err := c.send(ctx, request{method: "GET", path: runPath(q.Run, "/series"), query: query})
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	d := json.NewDecoder(answer.Body)
	for at := ""; at != "intervals"; {
		t, err := d.Token()
		if err != nil {
			return fmt.Errorf("read a series: %w", err)
		}
		at, _ = t.(string)
	}
	if _, err := d.Token(); err != nil { // [
		return fmt.Errorf("read a series: %w", err)
	}
	for d.More() {
		var i run.Interval
		if err := d.Decode(&i); err != nil {
			return fmt.Errorf("read a series: %w", err)
		}
		if err := each(i); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil { // ]; missing if the answer is incomplete
		return fmt.Errorf("read a series: %w", err)
	}
	return nil
}

// SeriesWithin is Series of all agents, which it tries again as Repeat does, within limit,
// until the first interval has come. It returns the error of the last attempt.
func (c *Client) SeriesWithin(ctx context.Context, limit time.Duration, id string, each func(run.Interval) error) (err error) {
	begun := false
	_ = c.Repeat(ctx, limit, func() error {
		err = c.Series(ctx, run.SeriesQuery{Run: id}, func(i run.Interval) error {
			begun = true
			return each(i)
		})
		if begun { // another attempt would repeat intervals
			return nil
		}
		return err
	})
	return err
}
