package conn

import (
	"time"

	"github.com/gobench-io/gobench/internal/measure/delay"
)

// held is the time from which sending counts as held up: less is what the system call takes.
const held = time.Millisecond / 10

// Own returns how much of an exchange over c was this process's own delay, and not the other
// side's: how long the first bytes of the request were not sent after begin, and how long the last
// bytes of the answer had been in the kernel at end, at least. begin and end are on the clock of
// Now; end must be a moment ago. Call it after the last read of the exchange.
//
// A message that took several turns, as a long body, may have been held up in each of them: then it
// is at least how long the whole process was stopped meanwhile.
//
// Where the kernel does not say when it received what was read, the latter is how long the whole
// process was stopped.
func (c *Conn) Own(begin, end time.Duration) (own time.Duration) {
	arrived, known := time.Duration(0), false
	if c.stamp != 0 {
		arrived, known = delay.FromUnix(c.stamp)
		known = known && arrived >= begin // else the wall clock was set
	}
	if sent := c.sent; sent > begin {
		if known {
			sent = min(sent, arrived)
		}
		if sent-begin > held {
			own = sent - begin
		}
	}
	if known {
		own += max(0, end-arrived)
	} else {
		own += delay.Waited(begin+own, end)
	}
	if c.parts > 1 || c.full > 0 {
		own = max(own, min(delay.Stood(end)-c.stood, end-begin))
	}
	return own
}
