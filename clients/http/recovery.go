package http

import (
	"time"

	"github.com/gobench-io/gobench/internal/load/conn"
)

// outage is a time in which a client gets no answers, on the clock of conn.Now.
type outage struct {
	from    time.Duration // when the first call that failed began
	noticed time.Duration // when it failed
}

// lost begins an outage with a call that got no complete answer, unless one lasts or
// the fault is this host's.
func (c *client) lost(q *call, class conn.Class) {
	if !class.Local() && c.outage.Load() == nil {
		c.outage.CompareAndSwap(nil, &outage{q.start, conn.Now()})
	}
}

// recovered ends the outage with a complete answer: one below 500, to a call that
// began after the outage was noticed. What was under way before may be answered in
// spite of it.
func (c *client) recovered(q *call) {
	o := c.outage.Load()
	if o == nil || q.status >= 500 || q.start < o.noticed {
		return
	}
	if c.outage.CompareAndSwap(o, nil) {
		c.family.meters.recovery.Record(int64(q.end - o.from))
	}
}
