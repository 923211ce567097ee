// Package monitor follows a run by the batches of its executors: it merges them, reports
// each interval with the load generator's health in it and the thresholds that are crossed,
// and returns the run's figures, verdict and notes. It does no I/O. Local runs and a
// master's runs use it alike.
package monitor
