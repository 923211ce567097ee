// Package health judges whether the numbers of a run can be trusted: the load generator
// watches itself.
//
// A [Sampler] runs in the executor and reads figures of the machine and the Go runtime once
// a second; they are metrics of the run like all others. A [Judge] runs where the run's
// intervals are merged: it compares each with limits and returns a [Verdict] with its
// reasons in words. A verdict depends only on the windows that were added, and a Judge's
// memory does not grow with them. docs/truth.md explains each signal to users.
package health

// Metric is a figure that a Sampler records.
type Metric int

// The figures, each of one second. Times are in nanoseconds, shares in thousandths.
const (
	CPU         Metric = iota // of this machine that is in use, share
	OwnCPU                    // of this machine that this process uses, share
	Steal                     // of this machine's CPU that its hypervisor used for others, share
	QuotaCPU                  // used of the tightest CPU quota of this process's cgroup and its parents, share
	Throttled                 // periods in which the quota of the cgroup or a parent was used up, share
	Pressure                  // of the time in which some process of this machine waited for a CPU, share
	Memory                    // of this machine that is not available, share
	MemoryLimit               // used of the tightest memory limit of this process's cgroup and its parents, share
	SwapIn                    // pages read back from swap
	Scheduler                 // how long goroutines waited for a thread, p99
	GCPause                   // stops of the process for garbage collection, p99
	GCCPU                     // of this process's CPU time that garbage collection used, share
	Canary                    // delay of sleeps of 10 ms, p99
	ClockStep                 // how far the wall clock jumped
	OpenFiles                 // of this process
	Procs                     // GOMAXPROCS
	Retransmits               // of the TCP segments that this machine sent, share
	Drops                     // packets that this machine dropped because it was too slow
	Link                      // used of a network card's capacity in one direction, the busiest, share
	metricCount
)

// Group is the group of the figures' metrics; their titles begin with Prefix.
const (
	Group  = "Generator"
	Prefix = "gobench."
)

// Metrics names the figures. Events are counted once: unlike a level, their number does not
// stand for the windows until the next sample.
var Metrics = [metricCount]struct {
	Name, Graph, Unit string
	Events            bool
}{
	CPU:         {"cpu", "CPU", "permille", false},
	OwnCPU:      {"cpu_own", "CPU", "permille", false},
	Steal:       {"steal", "CPU", "permille", false},
	QuotaCPU:    {"cpu_quota", "CPU quota", "permille", false},
	Throttled:   {"throttled", "CPU quota", "permille", false},
	Pressure:    {"cpu_pressure", "CPU", "permille", false},
	Memory:      {"memory", "Memory", "permille", false},
	MemoryLimit: {"memory_limit", "Memory", "permille", false},
	SwapIn:      {"swap_in", "Swap", "pages", true},
	Scheduler:   {"scheduler", "Delays", "ns", false},
	GCPause:     {"gc_pause", "Delays", "ns", false},
	GCCPU:       {"gc_cpu", "Garbage collection", "permille", false},
	Canary:      {"canary", "Delays", "ns", false},
	ClockStep:   {"clock_step", "Clock", "ns", true},
	OpenFiles:   {"open_files", "Files", "N", false},
	Procs:       {"procs", "Threads", "N", false},
	Retransmits: {"retransmits", "Network", "permille", false},
	Drops:       {"drops", "Packets", "N", true},
	Link:        {"link", "Network", "permille", false},
}
