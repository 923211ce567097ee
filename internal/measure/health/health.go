// Package health tells whether the numbers of a run can be trusted: the generator
// watches itself.
//
// A [Sampler] runs in the executor and reads once a second what the machine and the
// Go runtime did meanwhile; its figures are metrics of the run like all others. A
// [Judge] runs where the run's intervals come together: it holds each against
// limits and gives a [Verdict], with reasons in words. It is a pure function of the
// windows it was given, and its memory does not grow with them. docs/truth.md tells
// testers what each signal means.
package health

// Metric is a figure that a Sampler gives.
type Metric int

// The figures, each of one second. Times are in nanoseconds, shares in thousandths.
const (
	CPU         Metric = iota // of this machine that is in use, share
	OwnCPU                    // of this machine that this process uses, share
	Steal                     // of this machine's CPU that its host gave to others, share
	QuotaCPU                  // of the CPU quota of this process's cgroup, or of a parent's, the tightest, share
	Throttled                 // periods in which a CPU quota was used up, of the cgroup or of a parent, share
	Pressure                  // of the time in which some process of this machine waited for a CPU, share
	Memory                    // of this machine that is not available, share
	MemoryLimit               // of the memory limit of this process's cgroup, or of a parent's, the tightest, share
	SwapIn                    // pages read back from swap
	Scheduler                 // how long goroutines waited for a thread, p99
	GCPause                   // stops of the process for garbage collection, p99
	GCCPU                     // of this process's CPUs that went into garbage collection, share
	Canary                    // how much longer than asked for sleeps of 10 ms were, p99
	ClockStep                 // how far the wall clock jumped
	OpenFiles                 // of this process
	Procs                     // threads that run this process's Go code at once
	Retransmits               // of the TCP segments this machine sent, share
	Drops                     // packets that this machine dropped because it was too slow
	Link                      // of what a network card can carry in one direction, the busiest, share
	metricCount
)

// Group is the group of the figures' metrics, and Prefix begins their titles.
const (
	Group  = "Generator"
	Prefix = "gobench."
)

// Metrics names the figures.
var Metrics = [metricCount]struct{ Name, Graph, Unit string }{
	CPU:         {"cpu", "CPU", "permille"},
	OwnCPU:      {"cpu_own", "CPU", "permille"},
	Steal:       {"steal", "CPU", "permille"},
	QuotaCPU:    {"cpu_quota", "CPU quota", "permille"},
	Throttled:   {"throttled", "CPU quota", "permille"},
	Pressure:    {"cpu_pressure", "CPU", "permille"},
	Memory:      {"memory", "Memory", "permille"},
	MemoryLimit: {"memory_limit", "Memory", "permille"},
	SwapIn:      {"swap_in", "Swap", "pages"},
	Scheduler:   {"scheduler", "Delays", "ns"},
	GCPause:     {"gc_pause", "Delays", "ns"},
	GCCPU:       {"gc_cpu", "Garbage collection", "permille"},
	Canary:      {"canary", "Delays", "ns"},
	ClockStep:   {"clock_step", "Clock", "ns"},
	OpenFiles:   {"open_files", "Files", "N"},
	Procs:       {"procs", "Threads", "N"},
	Retransmits: {"retransmits", "Network", "permille"},
	Drops:       {"drops", "Packets", "N"},
	Link:        {"link", "Network", "permille"},
}
