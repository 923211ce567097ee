// Package dis has the random waits and payloads of a scenario: pauses drawn
// from a distribution, an absolute schedule of starts, and random text.
//
// [SleepRatePoisson] and [SleepRateLinear] pause between two steps of one user:
//
//	for ctx.Err() == nil {
//		go client.Get(ctx, url, nil)
//		dis.SleepRatePoisson(10) // ten times a second on average
//	}
//
// A pause knows nothing of the time its loop spends elsewhere: a loop that
// works 5 ms and pauses 100 ms turns 9.5 times a second, not 10, and a sleep
// always lasts a little longer than asked. Where the rate itself is the
// subject, use a [Pacer]. It plans the starts on an absolute schedule, so that
// neither the work nor a late wake-up ever lowers the rate.
//
// All functions may be called by any number of goroutines at once. They draw
// from the runtime's own source, which every process seeds afresh; a scenario
// that must repeat its draws uses the run's recorded seed, executor.Rand.
package dis
