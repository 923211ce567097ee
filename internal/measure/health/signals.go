package health

import (
	"fmt"
	"math"
	"time"

	"github.com/gobench-io/gobench/internal/run/units"
)

// signal is a rule that a Judge applies to every window.
type signal struct {
	name   string
	metric Metric
	amber  float64 // above it; a value of metric
	red    float64

	lates   bool // bad, it means that gobench was late
	late    bool // counts only while starts or goroutines are late as well
	sum     bool // the text shows the sum of all windows
	note    bool // leads to a note, and is no reason
	decides bool // the verdict, as what it counts is in no time; what others did is in the bounds of the figures
	advice  string

	text func(worst float64) string
}

const (
	none   = math.MaxFloat64
	millis = float64(time.Millisecond)
)

// Names of the signals that are not figures of a Sampler.
const (
	StartLag   = "start_lag"
	Rate       = "rate"
	Neighbours = "neighbours"
	LocalFiles = "local_fd"
	LocalPorts = "local_port"
	Totals     = "totals"
)

// MoreCPU is advice against most kinds of lateness.
const MoreCPU = "run gobench on CPUs of its own, or spread the load over more machines"

// signals are the rules for a Sampler's figures; docs/truth.md lists them.
var signals = []signal{
	{name: "cpu", metric: CPU, amber: 800, red: none, late: true, advice: MoreCPU, text: func(v float64) string {
		return fmt.Sprintf("%s of this machine's CPUs were in use while gobench was late", percent(v))
	}},
	{name: "throttled", metric: Throttled, amber: 0, red: 100, advice: "raise the CPU quota of gobench's container or cgroup, or lower the load", text: func(v float64) string {
		return fmt.Sprintf("the CPU quota held gobench back in %s of its periods", percent(v))
	}},
	{name: "cpu_quota", metric: QuotaCPU, amber: 800, red: 900, late: true, advice: "raise the CPU quota of gobench's container or cgroup, or lower the load", text: func(v float64) string {
		return fmt.Sprintf("%s of the CPU quota of gobench's cgroup were in use while gobench was late", percent(v))
	}},
	{name: "cpu_pressure", metric: Pressure, amber: 100, red: none, late: true, advice: MoreCPU, text: func(v float64) string {
		return fmt.Sprintf("processes of this machine waited for a CPU in %s of the time while gobench was late", percent(v))
	}},
	{name: "steal", metric: Steal, amber: stealAmber, red: 100, advice: "use a machine whose CPUs are not shared with other tenants", text: func(v float64) string {
		return fmt.Sprintf("the hypervisor withheld %s of the CPU time (steal)", percent(v))
	}},
	{name: "memory", metric: Memory, amber: none, red: 900, advice: "add memory to the machine, or use fewer users or smaller data", text: func(v float64) string {
		return fmt.Sprintf("%s of this machine's memory was in use", percent(v))
	}},
	{name: "memory_limit", metric: MemoryLimit, amber: none, red: 900, advice: "raise the memory limit of gobench's container or cgroup, or use fewer users or smaller data", text: func(v float64) string {
		return fmt.Sprintf("%s of the memory that gobench's cgroup may have was in use", percent(v))
	}},
	{name: "swap_in", metric: SwapIn, amber: none, red: 0, advice: "switch swap off (swapoff -a), or add memory to the machine", text: func(v float64) string {
		return fmt.Sprintf("%.0f pages of memory came back from swap in one second", v)
	}},
	{name: "scheduler", metric: Scheduler, lates: true, amber: millis, red: 10 * millis, advice: "the scenario computes too much for these CPUs: simplify it, lower the load, or add machines", text: func(v float64) string {
		return fmt.Sprintf("goroutines that could run waited %s for a thread (p99)", duration(v))
	}},
	{name: "gc_pause", metric: GCPause, lates: true, amber: 5 * millis, red: none, advice: "allocate less in the scenario, or raise GOGC", text: func(v float64) string {
		return fmt.Sprintf("garbage collection stopped gobench for %s (p99)", duration(v))
	}},
	{name: "gc_cpu", metric: GCCPU, amber: 100, red: 250, advice: "allocate less in the scenario's iterations, or raise GOGC", text: func(v float64) string {
		return fmt.Sprintf("garbage collection took %s of gobench's CPUs", percent(v))
	}},
	{name: "canary", metric: Canary, lates: true, amber: 5 * millis, red: 20 * millis, advice: "something stopped gobench as a whole: a SIGSTOP, a suspended machine, too few CPUs; look at steal and at other processes", text: func(v float64) string {
		return fmt.Sprintf("gobench did not run for up to %s at a stretch", duration(v))
	}},
	{name: "clock_step", metric: ClockStep, amber: 100 * millis, red: none, advice: "times of day in this run are off; durations are not, they come from a clock that does not jump. Let the time service slew", text: func(v float64) string {
		return fmt.Sprintf("the wall clock jumped by %s", duration(v))
	}},
	{name: "drops", metric: Drops, amber: 0, red: none, advice: "raise net.core.netdev_max_backlog and netdev_budget, or spread the load over more machines", text: func(v float64) string {
		return fmt.Sprintf("this machine dropped %.0f packets that it was too slow to take in one second", v)
	}},
	{name: "link", metric: Link, amber: 800, red: none, advice: "use a faster network card, smaller answers, or more machines", text: func(v float64) string {
		return fmt.Sprintf("a network card of this machine carried %s of what it can", percent(v))
	}},
	{name: "retransmits", metric: Retransmits, amber: 10, red: none, note: true, advice: "the network or the target loses packets; times have the repeats in them", text: func(v float64) string {
		return fmt.Sprintf("%s of the TCP segments that this machine sent were repeats", percent(v))
	}},
}

// The rules for what is measured of the load itself.
var (
	lagSignal = signal{name: StartLag, advice: MoreCPU + ", or lower the rate; response times count from the planned start and so have this in them"}

	rateSignal = signal{name: Rate, decides: true, amber: 10, red: 50, advice: MoreCPU + ", or lower the rate: what is planned and does not begin is in no percentile"}

	neighbourSignal = signal{name: Neighbours, late: true, advice: "move the target and other programs to other machines, or wait until this one is quiet", text: func(v float64) string {
		return fmt.Sprintf("other processes used %s of this machine's CPUs while gobench was late", percent(v))
	}}
	filesSignal = signal{name: LocalFiles, sum: true, decides: true, advice: "raise the limit of open files (ulimit -n, LimitNOFILE) above the number of connections", text: func(v float64) string {
		return fmt.Sprintf("%.0f operations failed because this machine let gobench open no more files; the target is not to blame", v)
	}}
	portsSignal = signal{name: LocalPorts, sum: true, decides: true, advice: "widen net.ipv4.ip_local_port_range, keep connections open, or use more source addresses or machines", text: func(v float64) string {
		return fmt.Sprintf("%.0f operations failed because this machine had no free local port; the target is not to blame", v)
	}}
)

// stealAmber is the share of the machine's CPUs, in thousandths, that its hypervisor may
// use for others before the steal signal is amber.
const stealAmber = 20

// busy is the share of the machine, in thousandths, above which others are a reason for lateness.
const busy = 500

// percent shows thousandths as "1.5 %"; from 2 % on without a digit after the point.
func percent(permille float64) string {
	if permille < 20 {
		return fmt.Sprintf("%.1f %%", permille/10)
	}
	return fmt.Sprintf("%.0f %%", permille/10)
}

// duration formats nanoseconds, as "1.50 ms".
func duration(ns float64) string { return units.Millis(ns / 1e6) }
