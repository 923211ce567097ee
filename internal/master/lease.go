package master

import (
	"context"
	"errors"
	"time"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// renewLeases renews the leases of the run's agents as they are due, until ctx ends, and returns
// after its renewals. It has its own goroutine: neither a takeover nor the store delays it.
func (a *active) renewLeases(ctx context.Context) {
	tick := time.NewTicker(a.m.Times.Renew)
	defer tick.Stop()
	renewals := newTasks(ctx)
	defer renewals.wait()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		places := a.places()
		for _, h := range places {
			if a.due(h, len(places)) {
				renewals.do(func(ctx context.Context) { a.renew(ctx, h) })
			}
		}
	}
}

// due reports whether an agent's lease is to be renewed now; never after its last delivery.
// agents is the number of the run's agents that are not lost. With many agents not all are
// renewed at each tick, but often enough that three lost renewals do not end a lease.
func (a *active) due(h *place, agents int) bool {
	every := min(time.Duration(agents/renewAtOnce)*a.m.Times.Renew, a.m.Times.Lease/4)
	a.mu.Lock()
	defer a.mu.Unlock()
	return !h.over && time.Since(h.renewed) > every-a.m.Times.Renew/2
}

// renewAtOnce is about how many leases are renewed per tick.
const renewAtOnce = 250

// renew renews an agent's lease and waits for the answer, 2 s at most. A refusal is logged,
// and recorded in the place, until the next success, if the agent does not know the run. Other
// errors are ignored: a later tick renews again.
func (a *active) renew(ctx context.Context, h *place) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	renew := &agentpb.Renew{LeaseNs: int64(a.m.Times.Lease)}
	_, err := a.m.command(ctx, &agentpb.Command{Agent: h.ID, Run: a.id, Epoch: a.epochOf(h), What: &agentpb.Command_Renew{Renew: renew}})
	var refused *refusedError
	switch {
	case err == nil: // without waking perform
		a.mu.Lock()
		h.renewed, h.forgot = time.Now(), time.Time{}
		a.mu.Unlock()
	case errors.As(err, &refused):
		a.m.Logger.Warn("a lease is refused", "run", a.id, "agent", h.ID, "error", err)
		if refused.Code == agentpb.CodeUnknown { // as after a restart of its process
			a.change(func() {
				if h.forgot.IsZero() {
					h.forgot = time.Now()
				}
			})
		}
	}
}
