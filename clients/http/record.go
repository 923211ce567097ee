package http

import (
	"context"
	"errors"
	"net"

	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/internal/load/conn"
	"github.com/gobench-io/gobench/internal/measure/meter"
)

// answered counts an operation with a complete answer, with one lock. It stores a sample if
// the status is not 2xx and q was copied for it.
func (c *client) answered(q *call) {
	m := &c.family.meters
	code := c.family.code(c.recorder, q.status)
	class := m.class(q.status)
	ok := q.status >= 200 && q.status < 300
	latency := q.end - q.start
	own := (*meter.Scope)(c.recorder).EndTime(q.start, q.end, q.own)
	e := c.recorder.Registry.Entry(q.phase)
	e.RecordTime(m.latency, latency, own)
	e.Record(m.ttfb, int64(q.first-q.start))
	if ok {
		e.Record(m.ok, 1)
	} else {
		e.Record(m.fail, 1)
	}
	e.Record(class, 1)
	if code != nil {
		e.Record(*code, 1)
	}
	if q.named != nil {
		q.named.answered(e, ok, latency, own)
	}
	c.traffic(e, q)
	q.peer.count(e)
	e.Close()
	(*meter.Scope)(c.recorder).Sent()
	if c.outage.Load() != nil {
		c.recovered(q)
	}
	if !ok && q.look != nil {
		c.recorder.Sample(c.family.prefix, statusClass(q.status), func() executor.Exchange { return c.asSeen(q, nil) })
	}
}

// traffic counts the bytes transferred and the requests followed, whatever the operation's
// outcome.
func (c *client) traffic(e executor.Entry, q *call) {
	m := &c.family.meters
	e.Record(m.bytesIn, q.in)
	e.Record(m.bytesOut, q.out)
	if q.reused > 0 {
		e.Record(m.reused, q.reused)
	}
	if f := q.follow; f != nil && f.redirects+f.challenges > 0 {
		hops := c.family.hops.Load()
		e.Record(hops.redirects, f.redirects)
		e.Record(hops.challenges, f.challenges)
	}
}

// failed counts an operation without a complete answer and returns the error for the caller: a
// *callError that wraps ctx's error if ctx has ended, context.Canceled if the client's ctx
// has, and err otherwise. An operation that ended with its client is returned as errClosed and
// counted as canceled, too. A canceled operation is without an answer as all others, but it is
// no failure of the target: it has no error text, no sample, and starts no outage. After many in a
// row that failed before the network it waits: see meter.Scope.Unsent.
func (c *client) failed(ctx context.Context, q *call, err error) error {
	closed := errors.Is(err, errClosed)
	switch {
	case closed:
		err = context.Canceled
	case ctx.Err() != nil:
		err = ctx.Err() // whatever error it caused
	case errors.Is(err, net.ErrClosed):
		err = context.Canceled // the client's ctx ended
	}
	class := conn.Classify(err)
	m := &c.family.meters
	e := c.recorder.Registry.Entry(q.phase)
	c.traffic(e, q)
	e.Add(m.errors[class], 1)
	e.Add(m.otherFail, 1)
	now := conn.Now()
	(*meter.Scope)(c.recorder).EndTime(q.start, now, 0)
	e.Record(m.age, int64(now-q.start))
	q.peer.count(e)
	if q.named != nil {
		e.Add(q.named.otherFail, 1)
	}
	e.Close()
	if closed {
		return errClosed
	}
	if class != conn.Canceled {
		c.lost(q, class)
		c.recorder.Registry.Failed(q.phase, c.family.prefix, class.String(), conn.Text(err))
		c.recorder.Sample(c.family.prefix, class.String(), func() executor.Exchange { return c.asSeen(q, err) })
	}
	if scope := (*meter.Scope)(c.recorder); class.Unsent() {
		scope.Unsent(ctx)
	} else {
		scope.Sent()
	}
	return &callError{q.request.Method, q.request.URL, err}
}

// callError is the error of a call without a complete answer. Its text begins with method and
// URL.
type callError struct {
	method, url string
	err         error
}

func (e *callError) Error() string { return e.method + " " + e.url + ": " + e.err.Error() }
func (e *callError) Unwrap() error { return e.err }

// Counted reports that the client has counted this failure under its text, so that an iteration
// that returns it is not counted a second time.
func (e *callError) Counted() bool { return true }
