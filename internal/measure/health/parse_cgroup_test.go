package health

import (
	"maps"
	"reflect"
	"slices"
	"testing"
)

// Recorded files: version 1 with a hierarchy for each controller; systemd's version 1
// beside an empty version 2; a container's version 2.
const (
	cgroupsOne  = "9:name=systemd:/\n4:memory:/box/65ac\n2:cpuacct:/\n1:cpu:/\n0::/\n"
	cgroupsBoth = "11:cpu,cpuacct:/system.slice/docker-1f.scope\n3:memory:/system.slice/docker-1f.scope\n1:name=systemd:/system.slice\n0::/system.slice/docker-1f.scope\n"
	cgroupsTwo  = "0::/user.slice/user-1000.slice/session-3.scope\n"

	mountsOne = `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`
	mountsBoth = `727 716 0:27 /system.slice/docker-1f.scope /sys/fs/cgroup/cpu,cpuacct ro,nosuid,nodev,noexec,relatime master:11 - cgroup cgroup rw,cpu,cpuacct
730 716 0:30 /system.slice/docker-1f.scope /sys/fs/cgroup/memory ro,nosuid,nodev,noexec,relatime master:14 - cgroup cgroup rw,memory
`
	mountsTwo = "29 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n" +
		"30 23 0:26 /a\\040b /mnt/c\\134d rw - cgroup2 none rw\n"

	devices = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 7812345    5123    0    0    0     0          0         0  7812345    5123    0    0    0     0       0          0
  eth0:1234567890 987654    0   12    0     0          0         0 98765432  654321    0    0    0     0       0          0
`
)

func TestParseCgroups(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want map[string]string
	}{
		{cgroupsOne, map[string]string{"name=systemd": "", "memory": "/box/65ac", "cpuacct": "", "cpu": "", "": ""}},
		{cgroupsBoth, map[string]string{"cpu": "/system.slice/docker-1f.scope", "cpuacct": "/system.slice/docker-1f.scope", "memory": "/system.slice/docker-1f.scope", "name=systemd": "/system.slice", "": "/system.slice/docker-1f.scope"}},
		{"nonsense\n1:cpu\n2:cpu:relative\n", map[string]string{}},
	} {
		if got := parseCgroups([]byte(tt.text)); !maps.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestParseMounts(t *testing.T) {
	t.Parallel()
	want := []mount{{"/", "/sys/fs/cgroup", true, []string{"rw", "nsdelegate", "memory_recursiveprot"}}, {"/a b", `/mnt/c\d`, true, []string{"rw"}}}
	if got := parseMounts([]byte(mountsTwo)); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	one := parseMounts([]byte(mountsOne))
	if len(one) != 4 || !one[0].has("cpu") || one[0].has("cpuacct") || one[0].has("") || !one[3].has("") || one[3].has("cpu") {
		t.Errorf("%+v", one)
	}
	for _, s := range []string{"", "\n", " - \n", "1 2 3 4 5 6 - cgroup\n", "1 2 3 - cgroup a b\n", "22 27 0:21 / /proc rw - proc proc rw\n"} {
		if got := parseMounts([]byte(s)); got != nil {
			t.Errorf("%q: %+v", s, got)
		}
	}
}

// The directories in which the groups of this process are searched, its own first.
func TestGroupDirs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in, mounts, controller string
		want                         []string
	}{
		{"version 1", cgroupsOne, mountsOne, "memory", []string{"/sys/fs/cgroup/memory/box/65ac", "/sys/fs/cgroup/memory/box", "/sys/fs/cgroup/memory"}},
		{"version 1, at the top", cgroupsOne, mountsOne, "cpu", []string{"/sys/fs/cgroup/cpu"}},
		{"a container sees its own group as the top", cgroupsBoth, mountsBoth, "cpu", []string{"/sys/fs/cgroup/cpu,cpuacct"}},
		{"not mounted", cgroupsBoth, mountsBoth, "", nil},
		{"version 2", cgroupsTwo, mountsTwo, "", []string{"/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope", "/sys/fs/cgroup/user.slice/user-1000.slice", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"}},
		{"outside of its namespace", "0::/../../x\n", mountsTwo, "", []string{"/sys/fs/cgroup"}},
		{"elsewhere than the mount's top", "0::/kubepods/a\n", "1 2 0:26 /kubepods/ab /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "", []string{"/sys/fs/cgroup"}},
		{"no such controller", cgroupsTwo, mountsTwo, "cpu", nil},
	} {
		if got := groupDirs(parseCgroups([]byte(tt.in)), parseMounts([]byte(tt.mounts)), tt.controller); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestParseCPUMax(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"20000 100000\n": 0.2, "350000 100000\n": 3.5, "max 100000\n": 0, "": 0, "5": 0, "1 0": 0, "0 1": 0, "-1 5": 0} {
		if got, ok := parseCPUMax([]byte(text)); got != want || ok != (want > 0) {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
}

func TestParseDevices(t *testing.T) {
	t.Parallel()
	want := map[string]carried{"lo": {7812345, 7812345}, "eth0": {1234567890, 98765432}}
	if got := parseDevices([]byte(devices)); !maps.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if got := parseDevices([]byte("a: 1 2\nb 1 2 3 4 5 6 7 8 9\nc: x 2 3 4 5 6 7 8 9\n")); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
