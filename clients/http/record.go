package http

import (
	"context"
	"errors"
	"net"

	"github.com/gobench-io/gobench/internal/conn"
)

// answered counts an operation with a complete answer, all under one lock.
func (c *client) answered(q *call) {
	m := &c.family.meters
	e := c.recorder.Entry()
	e.Record(m.latency, int64(q.end-q.start))
	if q.status >= 200 && q.status < 300 {
		e.Add(m.ok, 1)
	} else {
		e.Add(m.fail, 1)
	}
	e.Add(m.bytesIn, q.in)
	e.Add(m.bytesOut, q.out)
	q.peer.count(e)
	e.Close()
	if c.outage.Load() != nil {
		c.recovered(q)
	}
}

// failed counts an operation without a complete answer and gives the caller's error.
func (c *client) failed(ctx context.Context, q *call, err error) error {
	switch {
	case errors.Is(err, errClosed):
		return err // a wrong call
	case ctx.Err() != nil:
		err = ctx.Err() // however it showed
	case errors.Is(err, net.ErrClosed):
		err = context.Canceled // the client's ctx ended
	}
	class := conn.Classify(err)
	m := &c.family.meters
	e := c.recorder.Entry()
	e.Add(m.bytesIn, q.in)
	e.Add(m.bytesOut, q.out)
	e.Add(m.errors[class], 1)
	q.peer.count(e)
	if class != conn.Canceled {
		e.Add(m.otherFail, 1)
	}
	e.Close()
	if class != conn.Canceled {
		c.lost(q, class)
		c.recorder.Error(c.family.prefix, class.String(), conn.Text(err))
	}
	return &callError{q.request.Method, q.request.URL, err}
}

// callError is a call that got no complete answer.
type callError struct {
	method, url string
	err         error
}

func (e *callError) Error() string { return e.method + " " + e.url + ": " + e.err.Error() }
func (e *callError) Unwrap() error { return e.err }

// Counted tells whoever runs users that the client has counted this failure by its
// text, so that an iteration that returns it is not listed a second time.
func (e *callError) Counted() bool { return true }
