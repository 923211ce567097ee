// Package master executes the runs that users submit.
//
// A [Master] holds a queue of runs and performs one at a time: it compiles the scenario,
// splits the load over agents, starts it on all of them at the same moment, merges the
// batches that they deliver, and stores the result. Agents generate load only while the
// master renews their lease.
//
// It talks to agents over a [Bus] (package bus) and stores its data in a [Store] (package
// store). Both belong to the caller, who closes them after [Master.Serve] has returned. A
// caller that ends the master on purpose calls [Master.Shutdown] first; otherwise the active
// run becomes cancelled at the next start, and what agents still have of it is merged then.
//
// A delivery of an agent is acknowledged only after the transaction that stores it. A batch
// is identified by (run, executor, epoch, number), so one that is delivered twice counts
// once.
//
// Three goroutines share the work on the active run: perform (active.go) takes it from state
// to state, the intake merges deliveries (intake.go, delivery.go), and another one commits.
package master
