package master

import (
	"context"
	"time"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// mark records that the clock of a member is being measured. It panics if id is unknown.
func (f *fleet) mark(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members[id].probed = time.Now()
}

// probe measures the offset of an agent's clock several times and stores the result of the
// shortest round trip (RFC 5905, section 8: offset and delay of four time stamps). It blocks
// for up to 2 s each time. If one of them fails or ctx ends, it stops, and the offset that was
// stored before stays. times must be 1 or more: with 0 it stores 0.
func (f *fleet) probe(ctx context.Context, id string, times int) {
	var offset, within time.Duration
	found := false
	for range times {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		sent := time.Now()
		a, err := f.m.command(ctx, &agentpb.Command{Agent: id, What: &agentpb.Command_Ping{Ping: &agentpb.Ping{}}})
		got := time.Now()
		cancel()
		if err != nil {
			return
		}
		o, w := clockOffset(sent, got, a)
		if !found || w < within {
			offset, within, found = o, w, true
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.members[id]
	w.offset, w.within = offset, within
}

// clockOffset returns by how much an agent's wall clock is ahead of ours (negative: behind),
// and the error: half the round trip without the agent's own time. sent and got are when the
// request left and the answer arrived, both with a monotonic reading.
func clockOffset(sent, got time.Time, a *agentpb.Answer) (offset, within time.Duration) {
	there := max(time.Duration(a.SentNs-a.ReceivedNs), 0) // less where the clock was set meanwhile
	trip := max(got.Sub(sent)-there, 0)                   // got.Sub is monotonic
	begin := sent.UnixNano()
	offset = (time.Duration(a.ReceivedNs-begin) + time.Duration(a.SentNs-(begin+int64(got.Sub(sent))))) / 2
	return offset, trip / 2
}
