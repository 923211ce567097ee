package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// readSystem reads /proc and /sys; root is put before every path. What it cannot read or parse
// stays as it was, or becomes zero. FilesSoft is that of the parent process, the shell.
func (f *Facts) readSystem(root string) {
	text := func(name string) string {
		b, _ := os.ReadFile(root + name)
		return strings.TrimSpace(string(b))
	}
	number := func(name string) uint64 {
		n, _ := strconv.ParseUint(text(name), 10, 64)
		return n
	}
	f.FilesSoft = softLimit(text(fmt.Sprintf("/proc/%d/limits", os.Getppid())))
	f.FilesHighest = number("/proc/sys/fs/nr_open")
	if _, err := fmt.Sscan(text("/proc/sys/net/ipv4/ip_local_port_range"), &f.PortsFirst, &f.PortsLast); err != nil {
		f.PortsFirst, f.PortsLast = 0, 0
	}
	if n, err := strconv.Atoi(text("/proc/sys/net/ipv4/tcp_tw_reuse")); err == nil {
		f.ReusePorts = n
	}
	f.Tracked, f.TrackedMost = number("/proc/sys/net/netfilter/nf_conntrack_count"), number("/proc/sys/net/netfilter/nf_conntrack_max")
	f.Listen, f.Backlog = int(number("/proc/sys/net/core/somaxconn")), int(number("/proc/sys/net/core/netdev_max_backlog"))
	f.CPU = field(text("/proc/cpuinfo"), "model name")
	f.Online = cpuList(text("/sys/devices/system/cpu/online"))
	names, _ := filepath.Glob(root + "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor") // the pattern is valid
	var governors []string
	for _, name := range names {
		if g := text(strings.TrimPrefix(name, root)); g != "" && !slices.Contains(governors, g) {
			governors = append(governors, g)
		}
	}
	slices.Sort(governors)
	f.Governors = strings.Join(governors, ", ")
	meminfo := text("/proc/meminfo")
	f.Memory, f.Available = kilobytes(field(meminfo, "MemTotal")), kilobytes(field(meminfo, "MemAvailable"))
	f.Clock = text("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	f.Clocks = text("/sys/devices/system/clocksource/clocksource0/available_clocksource")
}

// field returns the value of the first "name : value" line, without blanks around it; "" if
// no line has it.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// kilobytes parses "24684084 kB", where the unit may be missing, and returns bytes; 0 for
// other texts.
func kilobytes(s string) uint64 {
	n, _ := strconv.ParseUint(strings.TrimSuffix(s, " kB"), 10, 64)
	return n << 10
}

// softLimit returns the soft limit of open files in /proc/PID/limits; 0 if unlimited or
// unknown.
func softLimit(limits string) uint64 {
	for line := range strings.Lines(limits) {
		if rest, ok := strings.CutPrefix(line, "Max open files"); ok {
			n, _ := strconv.ParseUint(strings.Fields(rest + " -")[0], 10, 64)
			return n
		}
	}
	return 0
}

// cpuList returns the number of CPUs in a list as "0-3,8,10-11"; 0 if it can't be parsed.
func cpuList(s string) (n int) {
	for part := range strings.SplitSeq(s, ",") {
		first, last, ranged := strings.Cut(part, "-")
		if !ranged {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || to < from {
			return 0
		}
		n += to - from + 1
	}
	return n
}
