package bus

import (
	"context"
	"testing"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// TestStreamIsReplaced: deliveries continue in the new stream, late acknowledgements of old
// ones change nothing there, and it is the stream of the next master. TestMasterDiskFull in
// internal/testing/cluster has a disk that is full.
func TestStreamIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.dial(t, "a1")
	deliver := func(n uint64) {
		t.Helper()
		if err := a.Deliver(t.Context(), &agentpb.Delivery{Agent: "a1", Run: "r", Number: n}); err != nil {
			t.Fatal(err)
		}
	}
	type taken struct {
		number uint64
		done   func()
	}
	got := make(chan taken, 1000)
	take := func(ctx context.Context) error {
		return w.master.Deliveries(ctx, func(d *agentpb.Delivery, r agentpb.Receipt) error {
			offer(got, taken{d.Number, r.Done})
			return nil
		})
	}
	stop := goes(t, take)
	deliver(1)
	old := receive(t, got)

	c := streamOf(w.server.space, 1)
	for range 2 { // as when the first attempt's answer was lost
		if err := w.master.replace(t.Context(), &c); err != nil {
			t.Fatal(err)
		}
	}
	deliver(2)
	next := func(what string) {
		t.Helper()
		d := receive(t, got)
		for d.number == 1 { // redelivered before its stream was replaced
			d = receive(t, got)
		}
		if d.number != 2 {
			t.Errorf("%s delivery %d came, want 2", what, d.number)
		}
	}
	next("at first")
	old.done()
	next("after the late acknowledgement") // it is not done
	stop()
	w.stop()
	w.start(t, func(o *ServerOptions) { o.Listen = w.server.Addresses()[0] })
	for len(got) > 0 {
		<-got
	}
	goes(t, take)
	next("after a restart")
	if failed := w.server.writeError(); failed != "" {
		t.Error(failed)
	}
}
