// Package process runs one executor process: it starts it, serves the Unix socket that
// the executor attaches to, sends it its part of the run, passes on what it counts, and
// takes profiles of it. It knows neither agents nor masters: a local run and an agent
// both use it.
//
// A [Process] is run once, by [Process.Run], which returns when the executor has ended
// and nothing of it is left. When this process dies, its executors die (on Linux the
// kernel kills them; elsewhere they end when their stream breaks). When an executor
// ends before its last batch, Run returns a [DeadError] that describes how.
package process
