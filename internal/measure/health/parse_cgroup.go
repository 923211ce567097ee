package health

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// parseCgroups reads /proc/self/cgroup (cgroups(7)), lines "4:cpu,cpuacct:/path", and
// returns the path by controller, "" for the root; that of version 2 has an empty name. It
// skips malformed lines.
func parseCgroups(b []byte) map[string]string {
	paths := map[string]string{}
	for line := range strings.Lines(string(b)) {
		parts := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3)
		if len(parts) < 3 || !strings.HasPrefix(parts[2], "/") {
			continue
		}
		for _, controller := range strings.Split(parts[1], ",") {
			paths[controller] = strings.TrimSuffix(parts[2], "/")
		}
	}
	return paths
}

// mount is a hierarchy of cgroups that is mounted.
type mount struct {
	root        string // the group at the top of the mount
	point       string
	two         bool     // version 2
	controllers []string // version 1
}

func (m mount) has(controller string) bool {
	return m.two && controller == "" || !m.two && controller != "" && slices.Contains(m.controllers, controller)
}

// parseMounts reads the cgroup hierarchies of /proc/self/mountinfo (proc_pid_mountinfo(5)):
// "31 23 0:24 ROOT POINT OPTIONS [FIELDS...] - TYPE SOURCE OPTIONS". Controllers are the last
// options, others of which, as "rw", stay among them. It skips other and malformed lines.
func parseMounts(b []byte) (mounts []mount) {
	for line := range strings.Lines(string(b)) {
		left, right, ok := strings.Cut(line, " - ")
		f, of := strings.Fields(left), strings.Fields(right)
		if !ok || len(f) < 6 || len(of) < 3 || of[0] != "cgroup" && of[0] != "cgroup2" {
			continue
		}
		mounts = append(mounts, mount{unescape(f[3]), unescape(f[4]), of[0] == "cgroup2", strings.Split(of[2], ",")})
	}
	return mounts
}

// unescape replaces the kernel's escapes of a space ("\040"), tab, line end and backslash.
func unescape(s string) string {
	for _, c := range []string{" ", "\t", "\n", "\\"} {
		s = strings.ReplaceAll(s, "\\"+strconv.FormatInt(int64(c[0])+01000, 8)[1:], c)
	}
	return s
}

// groupDirs returns the directories of this process's group of a controller, its own first,
// and of its parents up to the mount point; nil if it has no group or that is not mounted.
// The empty controller is version 2.
func groupDirs(in map[string]string, mounts []mount, controller string) (dirs []string) {
	path, ok := in[controller]
	if !ok {
		return nil
	}
	for _, m := range mounts {
		if !m.has(controller) {
			continue
		}
		// In a container the path may be the host's, and the mount's root a prefix of it.
		rest, below := strings.CutPrefix(path+"/", strings.TrimSuffix(m.root, "/")+"/")
		if !below || strings.Contains(path, "..") {
			rest = "" // only the mount itself can be ours
		}
		for rest = strings.Trim(rest, "/"); rest != ""; {
			dirs = append(dirs, m.point+"/"+rest)
			rest = rest[:max(0, strings.LastIndexByte(rest, '/'))]
		}
		return append(dirs, m.point)
	}
	return nil
}

// parseCPUMax reads cpu.max, "20000 100000" or "max 100000": microseconds of CPU time in each
// period, and the period's length. It returns their quotient; ok is false without a limit, if
// one of them is 0, or if malformed.
func parseCPUMax(b []byte) (cpus float64, ok bool) {
	f := bytes.Fields(b)
	if len(f) != 2 {
		return 0, false
	}
	quota, ok := number(f[0])
	period, also := number(f[1])
	if !ok || !also || quota == 0 || period == 0 {
		return 0, false
	}
	return float64(quota) / float64(period), true
}

// number reads a file that consists of one number of 0 or more.
func number(b []byte) (uint64, bool) {
	n, err := strconv.ParseUint(string(bytes.TrimSpace(b)), 10, 64)
	return n, err == nil
}
