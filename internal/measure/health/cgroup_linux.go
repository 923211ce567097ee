package health

import (
	"os"
	"time"
)

// cgroups are the cgroups whose limits apply to this process: its own and their parents, as
// far as they are visible, of version 1 and 2 (cgroups(7)).
type cgroups struct {
	cpu    []*cpuGroup
	memory []string // directories
}

// cpuGroup is a group that may have a CPU quota.
type cpuGroup struct {
	dir     string
	usage   string // version 1: cpuacct.usage of the same group, if it has one
	used    counter
	periods counter
	held    counter // periods in which the quota was used up
}

// counter is a counter that only grows.
type counter struct {
	last uint64
	seen bool
}

// since returns the growth since the last call, 0 if the counter fell; ok is false for the
// first call.
func (c *counter) since(now uint64) (grew uint64, ok bool) {
	grew, ok = grown(now, c.last), c.seen
	c.last, c.seen = now, true
	return grew, ok
}

// open finds this process's cgroups; what it cannot read or parse counts as no cgroup. The
// caller must call it once, before read and allowed, and with h's buffer made. Nothing has to
// be closed.
func (g *cgroups) open(h *host) {
	b, _ := h.file("/proc/self/cgroup")
	in := parseCgroups(b)
	b, _ = os.ReadFile(h.root + "/proc/self/mountinfo") // may be long
	mounts := parseMounts(b)
	cpu, memory := groupDirs(in, mounts, "cpu"), groupDirs(in, mounts, "memory")
	usage := groupDirs(in, mounts, "cpuacct")
	for i, dir := range cpu {
		c := &cpuGroup{dir: dir}
		if len(usage) == len(cpu) && in["cpu"] == in["cpuacct"] {
			c.usage = usage[i] + "/cpuacct.usage"
		}
		g.cpu = append(g.cpu, c)
	}
	g.memory = memory
	for _, dir := range groupDirs(in, mounts, "") { // version 2
		g.cpu = append(g.cpu, &cpuGroup{dir: dir})
		g.memory = append(g.memory, dir)
	}
}

// read records, in thousandths, how much of the tightest limits is used: QuotaCPU and
// Throttled since the last call, which was elapsed ago, and not in the first; MemoryLimit as
// it is now. A figure without a limit is left out. Quotas may be set and changed at any time,
// so it reads all groups. The caller must call open before.
func (g *cgroups) read(h *host, elapsed time.Duration, record func(Metric, int64)) {
	used, throttled, memory := int64(-1), int64(-1), int64(-1)
	for _, c := range g.cpu {
		u, t := c.read(h, elapsed)
		used, throttled = max(used, u), max(throttled, t)
	}
	for _, dir := range g.memory {
		if limit, ok := memoryLimit(h, dir); ok && limit > 0 {
			memory = max(memory, share(memoryUsed(h, dir), limit))
		}
	}
	known := func(m Metric, v int64) {
		if v >= 0 {
			record(m, v)
		}
	}
	known(QuotaCPU, used)
	known(Throttled, throttled)
	known(MemoryLimit, memory)
}

// read returns the share of its quota that a group used in the time elapsed, and the share
// of its periods in which it was throttled, since the last call, in thousandths; -1 if
// unknown, without a quota, and in the first call.
func (c *cpuGroup) read(h *host, elapsed time.Duration) (used, throttled int64) {
	used, throttled = -1, -1
	cpus, ok := cpuQuota(h, c.dir)
	if !ok {
		c.used, c.periods, c.held = counter{}, counter{}, counter{}
		return
	}
	b, _ := h.file(c.dir + "/cpu.stat")
	periods, ok := field(b, "nr_periods")
	held, also := field(b, "nr_throttled")
	if ok && also {
		p, _ := c.periods.since(periods)
		if n, ok := c.held.since(held); ok {
			throttled = share(n, p)
		}
	}
	micros, ok := field(b, "usage_usec")
	if !ok && c.usage != "" {
		b, _ = h.file(c.usage)
		micros, ok = number(b)
		micros /= 1000
	}
	if ok {
		if n, ok := c.used.since(micros); ok && elapsed > 0 {
			used = share(n, uint64(max(1, cpus*float64(elapsed.Microseconds()))))
		}
	}
	return
}

// cpuQuota returns a group's quota in CPUs; ok is false without a limit, or if it cannot be
// read.
func cpuQuota(h *host, dir string) (cpus float64, ok bool) {
	if b, ok := h.file(dir + "/cpu.max"); ok {
		return parseCPUMax(b)
	}
	b, _ := h.file(dir + "/cpu.cfs_quota_us")
	quota, ok := number(b) // -1 without a limit
	b, _ = h.file(dir + "/cpu.cfs_period_us")
	period, also := number(b)
	if !ok || !also || period == 0 {
		return 0, false
	}
	return float64(quota) / float64(period), quota > 0
}

// unlimited is what version 1 shows for no limit, less at most a page.
const unlimited = 1<<63 - 1<<20

// memoryLimit returns a group's limit; ok is false without one, or if it cannot be read, and
// bytes then means nothing.
func memoryLimit(h *host, dir string) (bytes uint64, ok bool) {
	b, ok := h.file(dir + "/memory.max") // "max" without a limit
	if !ok {
		b, _ = h.file(dir + "/memory.limit_in_bytes")
	}
	bytes, ok = number(b)
	return bytes, ok && bytes < unlimited
}

// memoryUsed returns a group's memory in bytes, without the inactive page cache, which the
// kernel can reclaim; 0 if it cannot be read.
func memoryUsed(h *host, dir string) uint64 {
	b, ok := h.file(dir + "/memory.current")
	name := "inactive_file"
	if !ok {
		b, _ = h.file(dir + "/memory.usage_in_bytes")
		name = "total_inactive_file"
	}
	used, _ := number(b)
	b, _ = h.file(dir + "/memory.stat")
	files, _ := field(b, name)
	return grown(used, files)
}

// Allowed returns the CPUs and the bytes of memory that this process's cgroup and its
// parents allow, the tightest limit of each; 0 without a limit or if unknown.
func Allowed() (cpus float64, bytes uint64) {
	h := &host{buf: make([]byte, 32<<10)}
	h.groups.open(h)
	return h.groups.allowed(h)
}

// allowed implements Allowed.
func (g *cgroups) allowed(h *host) (cpus float64, bytes uint64) {
	for _, c := range g.cpu {
		if n, ok := cpuQuota(h, c.dir); ok && (cpus == 0 || n < cpus) {
			cpus = n
		}
	}
	for _, dir := range g.memory {
		if n, ok := memoryLimit(h, dir); ok && (bytes == 0 || n < bytes) {
			bytes = n
		}
	}
	return cpus, bytes
}
