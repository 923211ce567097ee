package master

import (
	"fmt"
	"time"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// twins notes when a beat shows that two processes say they are one agent, as when its
// data folder was copied: one that had been followed by another is back. Neither may run
// anything while that goes on.
func (w *member) twins(b *agentpb.Beat) {
	if w.beat == nil || w.beat.Boot == b.Boot {
		return
	}
	if w.before != nil && w.before.Boot == b.Boot {
		w.twin = fmt.Sprintf("two agents are it, %s and %s: a copy of its data folder is in use; end one of them, and have it join by itself in a folder of its own",
			whence(w.beat), whence(b))
		w.twinAt = time.Now()
	}
	w.before = w.beat
}

// whence tells where a beat comes from, for people.
func whence(b *agentpb.Beat) string {
	h := b.GetHello()
	if h.GetAddress() == "" {
		return h.GetName()
	}
	return h.GetName() + " at " + h.GetAddress()
}
