// Package agent is one host of a cluster: an [Agent] runs the executors that its master
// asks for, and delivers what they count.
//
// It takes commands from its [Bus] (prepare, arm, begin, renew, stop, cancel, release),
// starts the executors of a run in a sandbox of their own, stores what they count in
// spools on its disk, and sends it until the master has committed it. A load whose lease
// the master does not renew stops by itself. An agent that starts again after it was
// killed ends what its previous process left running, and delivers what that had stored.
//
// Package process runs the single executor; a local run uses it without an agent.
package agent
