package health

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// tree is a directory with a machine's files.
type tree struct {
	t *testing.T
	h *host
}

func newTree(t *testing.T, files map[string]string) *tree {
	tr := &tree{t, &host{root: t.TempDir()}}
	tr.write(files)
	tr.h.open()
	tr.figures() // the counters' first values
	return tr
}

func (tr *tree) write(files map[string]string) {
	tr.t.Helper()
	for name, text := range files {
		path := filepath.Join(tr.h.root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tr.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			tr.t.Fatal(err)
		}
	}
}

// figures are the figures of a second, without those of this process.
func (tr *tree) figures() map[string]int64 {
	got := map[string]int64{}
	tr.h.read(time.Second, func(m Metric, v int64) {
		if m != OpenFiles {
			got[Metrics[m].Name] = v
		}
	})
	return got
}

func (tr *tree) want(what string, want map[string]int64) {
	tr.t.Helper()
	if got := tr.figures(); !maps.Equal(got, want) {
		tr.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Of version 2, a group without limits of its own in a group with a quota of two
// CPUs and 1 GB of memory.
func TestCgroupsOfVersionTwo(t *testing.T) {
	t.Parallel()
	const slice, own = "sys/fs/cgroup/user.slice/", "sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope/"
	tr := newTree(t, map[string]string{
		"proc/self/cgroup": cgroupsTwo, "proc/self/mountinfo": mountsTwo,
		own + "cpu.max": "max 100000\n", own + "cpu.stat": "usage_usec 5\nnr_periods 0\nnr_throttled 0\n", own + "memory.max": "max\n", own + "memory.current": "900000000\n",
		slice + "cpu.max": "200000 100000\n", slice + "cpu.stat": "usage_usec 7000000\nuser_usec 1\nnr_periods 100\nnr_throttled 50\nthrottled_usec 9\n",
		slice + "memory.max": "1000000000\n", slice + "memory.current": "950000000\n", slice + "memory.stat": "anon 1\ninactive_anon 7\ninactive_file 30000000\n",
	})
	tr.write(map[string]string{slice + "cpu.stat": "usage_usec 8900000\nnr_periods 110\nnr_throttled 53\n"})
	tr.want("the parent's limits", map[string]int64{"cpu_quota": 950, "throttled": 300, "memory_limit": 920})
	if cpus, bytes := tr.h.groups.allowed(tr.h); cpus != 2 || bytes != 1e9 {
		t.Errorf("%v CPUs and %d bytes are allowed", cpus, bytes)
	}
	tr.write(map[string]string{slice + "cpu.max": "max 100000\n", slice + "memory.max": "max\n"})
	tr.want("limits taken away", map[string]int64{})
	if cpus, bytes := tr.h.groups.allowed(tr.h); cpus != 0 || bytes != 0 {
		t.Errorf("%v CPUs and %d bytes are allowed without a limit", cpus, bytes)
	}
	tr.write(map[string]string{own + "cpu.max": "50000 100000\n"})
	tr.want("a limit just set says nothing of the second before", map[string]int64{})
	tr.write(map[string]string{own + "cpu.stat": "usage_usec 100005\nnr_periods 10\nnr_throttled 0\n"})
	tr.want("its first second", map[string]int64{"cpu_quota": 200, "throttled": 0})
}

// Of version 1, where the usage belongs to another controller.
func TestCgroupsOfVersionOne(t *testing.T) {
	t.Parallel()
	const cpu, memory = "sys/fs/cgroup/cpu,cpuacct/", "sys/fs/cgroup/memory/"
	tr := newTree(t, map[string]string{
		"proc/self/cgroup": cgroupsBoth, "proc/self/mountinfo": mountsBoth,
		cpu + "cpu.cfs_quota_us": "50000\n", cpu + "cpu.cfs_period_us": "100000\n", cpu + "cpu.stat": "nr_periods 10\nnr_throttled 1\nthrottled_time 3\n", cpu + "cpuacct.usage": "1000000000\n",
		memory + "memory.limit_in_bytes": "9223372036854771712\n", memory + "memory.usage_in_bytes": "500\n",
	})
	tr.write(map[string]string{cpu + "cpu.stat": "nr_periods 20\nnr_throttled 2\n", cpu + "cpuacct.usage": "1400000000\n"})
	tr.want("a quota and no limit of memory", map[string]int64{"cpu_quota": 800, "throttled": 100})
	tr.write(map[string]string{cpu + "cpu.cfs_quota_us": "-1\n", memory + "memory.limit_in_bytes": "1000\n", memory + "memory.stat": "inactive_file 1\ntotal_inactive_file 50\n"})
	tr.want("a limit of memory and no quota", map[string]int64{"memory_limit": 450})
}

// The hierarchies of cpu and cpuacct need not have the same groups.
func TestCgroupUsageOfAnotherGroup(t *testing.T) {
	t.Parallel()
	const cpu = "sys/fs/cgroup/cpu/limited/"
	tr := newTree(t, map[string]string{
		"proc/self/cgroup": "2:cpuacct:/\n1:cpu:/limited\n", "proc/self/mountinfo": mountsOne,
		cpu + "cpu.cfs_quota_us": "50000\n", cpu + "cpu.cfs_period_us": "100000\n", cpu + "cpu.stat": "nr_periods 10\nnr_throttled 1\n", "sys/fs/cgroup/cpuacct/cpuacct.usage": "1\n",
	})
	tr.write(map[string]string{"sys/fs/cgroup/cpuacct/cpuacct.usage": "1000000000\n"})
	tr.want("the usage is not this group's", map[string]int64{"throttled": 0})
}

// The busiest direction of the busiest card counts; loopback, virtual devices and cards of
// unknown speed are left out.
func TestLink(t *testing.T) {
	t.Parallel()
	dev := func(lo, eth0, eth1, veth string) string {
		return "Inter-|   Receive | Transmit\n face |bytes packets\n    lo:" + lo + " 0 0 0 0 0 0 0 0\n  eth0: " + eth0 + "\neth1:" + eth1 + " 0 0 0 0 0 0 0 0\nveth:" + veth + " 0 0 0 0 0 0 0 0\n"
	}
	tr := newTree(t, map[string]string{
		"proc/net/dev":                  dev("1", "1000 1 0 0 0 0 0 0 5000 1", "1", "1"),
		"sys/class/net/eth0/speed":      "1000\n", // Mbit/s
		"sys/class/net/eth0/device/any": "",
		"sys/class/net/eth1/speed":      "-1\n",
		"sys/class/net/eth1/device/any": "",
		"sys/class/net/veth/speed":      "10000\n",
		"sys/class/net/lo/type":         "772\n",
	})
	tr.write(map[string]string{"proc/net/dev": dev("999999999999", "25001000 1 0 0 0 0 0 0 105005000 1", "999999999999", "999999999999")})
	tr.want("105 of 125 MB/s", map[string]int64{"link": 840})
}

// Without the files there are no figures and no error.
func TestAMachineWithoutFigures(t *testing.T) {
	t.Parallel()
	newTree(t, nil).want("nothing", map[string]int64{})
}
