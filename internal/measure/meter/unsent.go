package meter

import (
	"context"
	"time"
)

// How many calls in a row may fail before the network before their user is slowed, and the first
// and the longest of its pauses.
const (
	unsentInARow = 100
	firstPause   = time.Millisecond
	longestPause = time.Second
)

// Unsent declares that a call of the user failed before the network: its address is wrong, not
// known or not allowed, or this host has no file or port for it. Nothing slows a user whose calls
// fail so, and it would only use up this host's CPUs. So after a hundred of them in a row Unsent
// waits before it returns, for 1 ms and then for twice as long each time, 1 s at most, or until ctx
// ends. It counts each wait in Slowed. It never waits if that is nil.
func (s *Scope) Unsent(ctx context.Context) {
	n := s.unsent.Add(1) - unsentInARow
	if s.Slowed == nil || n <= 0 {
		return
	}
	pause := longestPause
	if n <= 10 {
		pause = min(firstPause<<(n-1), longestPause)
	}
	s.Record(*s.Slowed, 1)
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// Sent declares that a call of the user reached the network, however it ended: see Unsent.
func (s *Scope) Sent() {
	if s.unsent.Load() != 0 { // usually it is, and a load is cheaper
		s.unsent.Store(0)
	}
}
