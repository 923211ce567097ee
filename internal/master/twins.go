package master

import (
	"fmt"
	"time"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// twins detects that two processes use one agent's identity, as after its data folder was
// copied: a process beats again after another one has. It sets w.twin and w.twinAt then, so
// that judge refuses the agent for Times.Lost after the last such beat. It must be called
// before b becomes w.beat, with the fleet's mu held.
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

// whence returns the host name and, if known, the address of a beat's agent, as text for
// people: "NAME at ADDRESS".
func whence(b *agentpb.Beat) string {
	h := b.GetHello()
	if h.GetAddress() == "" {
		return h.GetName()
	}
	return h.GetName() + " at " + h.GetAddress()
}
