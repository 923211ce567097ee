package agentpb

import (
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// Member is an agent and its state.
type Member struct {
	run.Agent
	State  string        // ready, busy, suspect, lost, refused, revoked
	Why    string        // of suspect, lost and refused
	Offset time.Duration // of its wall clock from the master's
	Error  time.Duration // of Offset
	Beat   *Beat         // the last one; nil if none came since the master started
}
