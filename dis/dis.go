// Package dis has random pauses and payloads for scenarios: pauses drawn from a distribution,
// an absolute schedule of starts, and random text.
//
// [SleepRatePoisson] and [SleepRateLinear] pause between two steps of one user:
//
//	for ctx.Err() == nil {
//		go client.Get(ctx, url, nil)
//		dis.SleepRatePoisson(10) // ten times a second on average
//	}
//
// A pause does not account for the time that its loop spends elsewhere: a loop that works 5 ms
// and pauses 100 ms runs 9.5 times a second, not 10. If the rate itself matters, use a
// [Pacer]. It plans the starts on an absolute schedule, so that neither the work nor a late
// wake-up lowers the rate.
//
// All functions may be called by any number of goroutines at once. They use the runtime's
// random source, which is seeded differently in every process. A scenario that must repeat its
// draws uses executor.Rand, seeded from the run's recorded seed.
package dis
