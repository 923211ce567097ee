package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/run/units"
)

// The bounds of the levels. Of a pair the first is that of Limit, the second that of Stop.
const (
	manyFiles  = 65_536
	fewFiles   = 64
	manyPorts  = 28_000
	fewPorts   = 100
	bigBacklog = 1000
	bigListen  = 1024
	lateTimer  = time.Millisecond
	dearClock  = 200 * time.Nanosecond
	fewMemory  = 512 << 20
	noMemory   = 64 << 20
	userMemory = 10 << 10 // bytes of a user with a connection: 7.5 KB here (docs/benchmarks.md), and the kernel's
	littleDisk = 1 << 30
	noDisk     = 16 << 20
)

// ownFiles is about the number of files that an executor has open beside its connections.
const ownFiles = 32

// Users returns how many users with a connection each a limit of open files allows.
func Users(files uint64) uint64 { return max(files, ownFiles) - ownFiles }

// closing is how long the kernel reserves the port of a closed connection.
const closing = 60 * time.Second

// Examine returns what each part of a machine allows, in a fixed order; of a part that is
// unknown there is no finding. It is a pure function.
func Examine(f Facts) []Finding {
	var all []Finding
	for _, examine := range []func(Facts) []Finding{files, ports, conntrack, queues, cpus, memory, clock, goCommand, folders} {
		all = append(all, examine(f)...)
	}
	return all
}

// Stops returns how many findings stop runs, and how many limit large loads.
func Stops(all []Finding) (stops, limits int) {
	for _, f := range all {
		switch f.Level {
		case Stop:
			stops++
		case Limit:
			limits++
		}
	}
	return stops, limits
}

func count[N uint64 | int](n N) string { return units.Count(int64(n)) }
func size(n uint64) string             { return units.Bytes(float64(n)) }

// about returns n rounded down to three digits, with a comma between thousands: "1,230,000";
// below 1000 it is exact.
func about(n uint64) string {
	step := uint64(1)
	for n/step >= 1000 {
		step *= 10
	}
	return count(n / step * step)
}

func span(d time.Duration) string { return units.Millis(float64(d) / 1e6) }

// one returns a single finding, whose text is formatted as by fmt; if its level is Fine,
// without lifts.
func one(name string, level Level, lifts []Lift, format string, args ...any) []Finding {
	if level == Fine {
		lifts = nil
	}
	return []Finding{{name, level, fmt.Sprintf(format, args...), lifts}}
}

// files returns the finding on open files; nil if their limit is unknown.
func files(f Facts) []Finding {
	if f.FilesHard == 0 {
		return nil
	}
	level := Fine
	switch {
	case f.FilesHard < fewFiles:
		level = Stop
	case f.FilesHard < manyFiles:
		level = Limit
	}
	text := fmt.Sprintf("%s: carries about %s users with a connection each", count(f.FilesHard), about(Users(f.FilesHard)))
	if f.FilesSoft > 0 && f.FilesSoft < f.FilesHard {
		text += fmt.Sprintf("; the soft limit of %s is raised to it by gobench itself", count(f.FilesSoft))
	}
	return one("open files", level, FileLifts(f.FilesHighest), "%s", text)
}

// FileLifts returns the commands that raise the limit of open files to highest, which is
// fs.nr_open, or to 1048576 if that is 0, unknown; any of them is enough.
func FileLifts(highest uint64) []Lift {
	if highest == 0 {
		highest = 1 << 20
	}
	return []Lift{
		{"this shell, as root", fmt.Sprintf("ulimit -n %d", highest)},
		{"every login", fmt.Sprintf("echo '* - nofile %d' | sudo tee /etc/security/limits.d/gobench.conf", highest)},
		{"systemd", fmt.Sprintf("systemd-run --pty -p LimitNOFILE=%d gobench run FILE", highest)},
		{"docker", fmt.Sprintf("docker run --ulimit nofile=%d:%d IMAGE", highest, highest)},
	}
}

// portLifts returns the commands that make more ports available for outgoing connections;
// any of them is enough.
func portLifts() []Lift {
	return []Lift{
		{"this machine", `sudo sysctl -w net.ipv4.ip_local_port_range="1024 65535"`},
		{"more addresses", "gobench http --source ADDRESS --source ADDRESS URL"},
		{"docker", `docker run --sysctl net.ipv4.ip_local_port_range="1024 65535" IMAGE`},
	}
}

// ports returns the findings on ports for outgoing connections, and on those of closed ones
// if the kernel does not reuse them; nil if the range is unknown.
func ports(f Facts) []Finding {
	n := f.PortsLast - f.PortsFirst + 1
	if f.PortsLast <= 0 {
		return nil
	}
	level := Fine
	switch {
	case n < fewPorts:
		level = Stop
	case n < manyPorts:
		level = Limit
	}
	all := one("ports", level, portLifts(), "%d to %d: %s connections at once to one address of a target", f.PortsFirst, f.PortsLast, count(max(n, 0)))
	if f.ReusePorts < 0 || f.ReusePorts == 1 {
		return all
	}
	text := fmt.Sprintf("wait %.0f s: %s new connections a second to one address can be sustained", closing.Seconds(), count(max(n, 0)/int(closing.Seconds())))
	if f.ReusePorts == 2 {
		text += "; no limit over loopback"
	}
	return append(all, one("closed ports", Limit, []Lift{{"this machine", "sudo sysctl -w net.ipv4.tcp_tw_reuse=1"}, {"this load", "keep connections open"}}, "%s", text)...)
}

// conntrack returns the finding on the firewall's table of connections; nil if there is no
// table, or it is unknown.
func conntrack(f Facts) []Finding {
	if f.TrackedMost == 0 {
		return nil
	}
	level := Fine
	switch free := f.TrackedMost - min(f.Tracked, f.TrackedMost); {
	case free < f.TrackedMost/10:
		level = Stop
	case free < manyFiles:
		level = Limit
	}
	return one("conntrack", level, []Lift{{"this machine", "sudo sysctl -w net.netfilter.nf_conntrack_max=1048576"}},
		"the firewall remembers %s of at most %s connections; packets beyond are dropped", count(f.Tracked), count(f.TrackedMost))
}

// queues returns the findings on the kernel's queues of packets and of connections that wait
// for a server's accept, as far as they are known.
func queues(f Facts) (all []Finding) {
	if n := f.Backlog; n > 0 {
		level := Fine
		if n < bigBacklog {
			level = Limit
		}
		all = one("packet queue", level, []Lift{{"this machine", "sudo sysctl -w net.core.netdev_max_backlog=5000"}}, "%s packets a CPU wait for the kernel (net.core.netdev_max_backlog)", count(n))
	}
	if n := f.Listen; n > 0 {
		level := Fine
		if n < bigListen {
			level = Limit
		}
		all = append(all, one("accept queue", level, []Lift{{"this machine", "sudo sysctl -w net.core.somaxconn=4096"}}, "%s connections wait for a server on this machine (net.core.somaxconn)", count(n))...)
	}
	return all
}

// cpus returns the finding on CPUs, and one on their clock rates if these are known.
func cpus(f Facts) []Finding {
	level, text := Fine, fmt.Sprintf("%d", f.CPUs)
	var lifts []Lift
	if f.Online > f.CPUs {
		level = Limit
		text += fmt.Sprintf(" of %d: gobench may use only some of them (affinity)", f.Online)
		lifts = append(lifts, Lift{"this shell", fmt.Sprintf("taskset -pc 0-%d $$", f.Online-1)}, Lift{"docker", fmt.Sprintf("docker run --cpuset-cpus 0-%d IMAGE", f.Online-1)})
	}
	if f.CPU != "" {
		text += ", " + f.CPU
	}
	switch {
	case f.Quota > 0 && f.Quota < float64(f.CPUs):
		level = Limit
		text += fmt.Sprintf("; the cgroup allows the time of %.3g", f.Quota)
		lifts = append(lifts, Lift{"systemd", "systemctl set-property UNIT CPUQuota="}, Lift{"docker", fmt.Sprintf("docker update --cpus %d CONTAINER", f.CPUs)})
	case f.Quota > 0:
		text += fmt.Sprintf("; a quota of %.3g, which is no limit", f.Quota)
	}
	all := one("CPUs", level, lifts, "%s", text)
	if f.Governors == "" {
		return all
	}
	level = Fine
	if f.Governors != "performance" {
		level = Limit
		f.Governors += ": clock rates change under load, and times with them"
	}
	return append(all, one("CPU governor", level, []Lift{{"this machine", "sudo cpupower frequency-set -g performance"}}, "%s", f.Governors)...)
}

// memory returns the finding on available memory; nil if it is unknown.
func memory(f Facts) []Finding {
	if f.Available == 0 {
		return nil
	}
	have, text := f.Available, fmt.Sprintf("%s of %s are available", size(f.Available), size(f.Memory))
	var lifts []Lift
	if f.MemoryLimit > 0 && f.MemoryLimit < f.Memory {
		have = min(have, f.MemoryLimit)
		text += fmt.Sprintf("; the cgroup allows %s", size(f.MemoryLimit))
		lifts = []Lift{{"systemd", "systemctl set-property UNIT MemoryMax=infinity"}, {"docker", "docker update --memory 4g --memory-swap 4g CONTAINER"}}
	}
	text += fmt.Sprintf(": carries about %s users with an idle connection each", about(have/userMemory))
	level := Fine
	switch {
	case have < noMemory:
		level = Stop
	case have < fewMemory:
		level = Limit
	}
	if level != Fine && lifts == nil {
		lifts = []Lift{{"this machine", "ps -e -o rss,comm --sort -rss | head"}}
	}
	return one("memory", level, lifts, "%s", text)
}

// slowClocks are time sources that need a system call or more to be read.
var slowClocks = map[string]bool{"hpet": true, "acpi_pm": true, "jiffies": true, "pit": true, "xen": true}

// clock returns the findings on timers and on the kernel's clock, as far as they are known.
func clock(f Facts) (all []Finding) {
	if f.TimerP99 > 0 {
		level := Fine
		if f.TimerP99 > lateTimer {
			level = Limit
		}
		all = one("timer", level, []Lift{{"this machine", "ps -e -o pcpu,comm --sort -pcpu | head"}},
			"waits of 1 ms ended %s late (p50), %s (p99), measured now%s", span(f.TimerP50), span(f.TimerP99), ifNot(level, ": other processes delay starts"))
	}
	if f.Clock == "" {
		return all
	}
	level := Fine
	if slowClocks[f.Clock] || f.ClockRead > dearClock {
		level = Limit
	}
	lifts := []Lift{{"this machine", "at boot: kernel parameter tsc=reliable"}}
	for _, name := range strings.Fields(f.Clocks) {
		if !slowClocks[name] && name != f.Clock {
			lifts = []Lift{{"this machine", "echo " + name + " | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"}}
			break
		}
	}
	return append(all, one("clock", level, lifts, "%s, %s to read it%s", f.Clock, span(f.ClockRead), ifNot(level, ": each request reads it several times"))...)
}

// ifNot returns text, or "" if level is Fine.
func ifNot(level Level, text string) string {
	if level == Fine {
		return ""
	}
	return text
}

// goCommand returns the finding on the Go command; nil if it was not looked for.
func goCommand(f Facts) []Finding {
	if f.Go != "" {
		return one("Go", Fine, nil, "%s, %s", f.Go, f.GoPath)
	}
	if f.GoError == "" {
		return nil
	}
	return one("Go", Limit, []Lift{{"from", "https://go.dev/dl/"}}, "%s; gobench http does not need it", f.GoError)
}

// folders returns a finding for each folder that gobench writes to, in their order.
func folders(f Facts) (all []Finding) {
	for _, d := range f.Folders {
		level, text := Fine, d.Path+", free space unknown"
		if d.Free != nil {
			text = fmt.Sprintf("%s, %s free", d.Path, size(*d.Free))
		}
		lifts := []Lift{{"another folder", d.Lift}}
		switch {
		case d.Error != "":
			level, text = Stop, d.Path+" can't be written: "+d.Error
		case d.NoExec:
			level, text = Stop, d.Path+" is mounted noexec: scenarios are compiled there and can't be started"
		case d.Free == nil:
		case *d.Free < noDisk:
			level = Stop
		case *d.Free < littleDisk:
			level = Limit
		}
		if d.Use == "data" && d.Error == "" && level != Fine {
			lifts = append(lifts, Lift{"old runs", "gobench clean --keep 20"})
		}
		all = append(all, one(d.Use+" folder", level, lifts, "%s", text)...)
	}
	return all
}
