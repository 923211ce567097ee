package master

import (
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// standing is an agent's state, as agentpb.Member.State has it.
type standing string

const (
	agentReady   standing = "ready"
	agentBusy    standing = "busy"
	agentSuspect standing = "suspect" // its beats are late
	agentLost    standing = "lost"    // no beat for Times.Lost
	agentRefused standing = "refused" // it speaks another protocol
	agentRevoked standing = "revoked"
)

// member is an agent that has joined.
type member struct {
	run.Agent
	beat    *agentpb.Beat // the last, or nil before the first
	heard   time.Time     // when it was received, monotonic
	state   standing
	why     string
	offset  time.Duration // its wall clock less ours
	within  time.Duration // error of offset: half of the round trip
	probed  time.Time
	cleared time.Time     // when leftover was last called for it
	refused string        // why it may not run anything, or empty
	before  *agentpb.Beat // the last of its previous process
	twin    string        // a message that two processes use its identity, or empty
	twinAt  time.Time     // when that was last noticed
	flag    string        // its last violation of permissions, or empty
	freed   string        // the last run that it has released
}
