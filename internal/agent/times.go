package agent

import (
	"time"

	"github.com/gobench-io/gobench/internal/process"
)

// Times holds the intervals and timeouts of an agent.
type Times struct {
	Beat     time.Duration // between beats, and between looks at the host and the executors
	Watch    time.Duration // between checks of the lease, of idle runs and of executors that are stuck
	Lease    time.Duration // how long a load continues without a renewal, if the master's commands set no lease
	Idle     time.Duration // after which a run that has not begun, and that the master sends nothing about, is cancelled
	Stall    time.Duration // beyond its interval without a batch, after which an executor is reported as stuck
	Stop     time.Duration // how long deliveries are still sent when the agent stops
	Output   time.Duration // between deliveries of what an executor prints
	Resend   time.Duration // after which a delivery that is not committed is sent again
	Send     time.Duration // timeout of sending one delivery
	Retry    time.Duration // from a failure to send to the next attempt; doubled up to RetryMax
	RetryMax time.Duration // longest time between two attempts to send
	Process  process.Times // of each executor
}

// DefaultTimes returns the intervals and timeouts of production.
func DefaultTimes() Times {
	return Times{
		Beat:     time.Second,
		Watch:    100 * time.Millisecond,
		Lease:    15 * time.Second,
		Idle:     2 * time.Minute,
		Stall:    5 * time.Second,
		Stop:     2 * time.Second,
		Output:   250 * time.Millisecond,
		Resend:   10 * time.Second,
		Send:     10 * time.Second,
		Retry:    100 * time.Millisecond,
		RetryMax: 2 * time.Second,
		Process:  process.DefaultTimes(),
	}
}

// Scale returns t with each duration multiplied by f.
func (t Times) Scale(f float64) Times {
	for _, d := range []*time.Duration{&t.Beat, &t.Watch, &t.Lease, &t.Idle, &t.Stall, &t.Stop, &t.Output, &t.Resend, &t.Send, &t.Retry, &t.RetryMax} {
		*d = time.Duration(float64(*d) * f)
	}
	t.Process = t.Process.Scale(f)
	return t
}
