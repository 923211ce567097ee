// Package truth compares what gobench reports with what happened: its figures with those of a
// target that is stopped on purpose, its verdicts with what an observer process saw of the
// machine, its use of memory and CPU with limits.
//
// make test runs each test in a short form, which asserts what a busy machine can't change:
// counts, order and lower bounds. make test-long measures, one test at a time.
package truth
