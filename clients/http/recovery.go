package http

import (
	"time"

	"github.com/gobench-io/gobench/internal/load/conn"
)

// outage is a period in which a client receives no answers, on the clock of conn.Now.
type outage struct {
	from    time.Duration // when the first failed call began
	noticed time.Duration // when it failed
}

// lost starts an outage after a call without a complete answer, unless one has started or this
// host is at fault.
func (c *client) lost(q *call, class conn.Class) {
	if !class.Local() && c.outage.Load() == nil {
		c.outage.CompareAndSwap(nil, &outage{q.start, conn.Now()})
	}
}

// recovered ends the outage after a complete answer with a status below 500, if its call began
// after the outage was noticed; earlier calls may be answered during an outage. It records the
// time from the beginning of the first failed call to the end of this answer.
func (c *client) recovered(q *call) {
	o := c.outage.Load()
	if o == nil || q.status >= 500 || q.start < o.noticed {
		return
	}
	if c.outage.CompareAndSwap(o, nil) {
		c.family.meters.recovery.RecordIn(q.phase, int64(q.end-o.from))
	}
}
