package http

import (
	"context"
	"time"

	"github.com/gobench-io/gobench/internal/load/conn"
	"github.com/gobench-io/gobench/internal/measure/delay"
)

// exchange sends q's request and reads the answer, and publishes both to the watchers of
// exchanges, if there are any. The result is that of transfer.
func (c *client) exchange(ctx context.Context, q *call) error {
	if c.recorder.Watched() {
		return c.watched(ctx, q)
	}
	return c.transfer(ctx, q)
}

// watched is exchange for a run with watchers. It is a separate function because the published
// value is large: in exchange's frame it would double the stack of each user.
//
//go:noinline
func (c *client) watched(ctx context.Context, q *call) error {
	q.look = new(look)
	err := c.transfer(ctx, q)
	c.recorder.Show(c.asSeen(q, err))
	return err
}

// transfer sends q's request over one of the client's connections and reads the answer into q,
// until ctx ends or the time limit of the call. If an idle connection turns out to be closed,
// and nothing of the request was sent or, with Options.Resend, the request is idempotent, it is
// sent again, once, over a new connection, which is counted. The connection is put back or closed
// in any case. It adds the bytes transferred to q, also with an error. When ctx ends, the error may
// be of the class Timeout: failed replaces it.
func (c *client) transfer(ctx context.Context, q *call) error {
	if c.settings.HTTP2 {
		err := c.exchange2(ctx, q)
		q.own += delay.Waited(q.now, q.end)
		return err
	}
	q.linked, q.stood = 0, delay.Stood(q.now)
	l, err := c.link(ctx, q)
	if err != nil {
		return err
	}
	in, out := l.In(), l.Out()
	again, err := c.attempt(ctx, q, l)
	in, out = l.In()-in, l.Out()-out
	q.in, q.out, q.got = q.in+in, q.out+out, in
	if err != nil && l.reused() && in == 0 && broken(err) && (out == 0 || c.settings.Resend && q.request.idempotent()) {
		c.lose(l)
		c.family.meters.resent.RecordIn(q.phase, 1)
		if l, err = c.dial(ctx, q); err != nil {
			return err
		}
		again, err = c.attempt(ctx, q, l)
		q.in, q.out, q.got = q.in+l.In(), q.out+l.Out(), l.In()
	}
	if err == nil {
		q.addOwn(l)
		if l.reused() {
			q.reused++
		}
	}
	switch {
	case err != nil:
		c.drop(l)
	case again:
		l.used, l.took = q.end, q.end-q.now
		c.put(l)
	default:
		c.finish(l)
	}
	return err
}

// linkedNow notes that the request's connection, which it had to wait for, is ready.
func (q *call) linkedNow() {
	q.linked = conn.Now()
	q.stopped = delay.Stood(q.linked) - q.stood
}

// addOwn adds gobench's own part of a request's time to the call's: that of the exchange over l and,
// while there was no connection yet, for how long the process was stopped.
func (q *call) addOwn(l *link) {
	begin := q.now
	if q.linked > 0 {
		begin = q.linked
		q.own += max(0, min(begin-q.now, q.stopped))
	}
	q.own += l.Own(begin, q.end)
}

// broken reports whether err means that the server had closed the connection.
func broken(err error) bool {
	class := conn.Classify(err)
	return class == conn.EOF || class == conn.Reset
}

// The fast way of sending and receiving (see conn.Conn.Ask) is used if the connection's last
// answer arrived within recently and took at most quickly.
const (
	quickAfter  = time.Millisecond
	quickAnswer = 20 * time.Millisecond
)

// attempt sends the request over l and reads the answer, until ctx ends or the time limit of
// the call. It reports whether l may be used again. It does not close l or put it back. The
// errors are as for transfer.
func (c *client) attempt(ctx context.Context, q *call, l *link) (again bool, err error) {
	c.arm(q, l)
	q.link = l
	if q.look != nil {
		q.look.over(l, l.reused())
	}
	q.quick = l.reused() && q.now-l.used < quickAfter && l.took < quickAnswer
	q.idle = l.reused() && !q.quick
	if !q.foreign { // the client watches ctx, and closes l when it ends
		return q.over(l.Conn)
	}
	if err := l.Begin(ctx); err != nil {
		return false, err
	}
	again, err = q.over(l.Conn)
	return l.End() && again, err
}

// over writes the request and reads the answer. Call arm before. It reports whether cn may be
// used again. If the server reset the connection while the request was written, it may have
// answered before: over then returns nil for a whole answer, and otherwise the error of
// writing.
func (q *call) over(cn *conn.Conn) (again bool, err error) {
	if q.upload != nil {
		return q.overBeside(cn)
	}
	sent := q.send(cn)
	if sent != nil && conn.Classify(sent) != conn.Reset {
		return false, sent
	}
	// A server that closed the connection may have answered before.
	again, err = q.receive(cn)
	if sent != nil {
		again = false
		if err != nil {
			err = sent
		}
	}
	return again, err
}
