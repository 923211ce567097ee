package doctor

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files")

// machines are one without limits, one as it is installed, one that can't run anything, and
// one of which little is known, not even the free space of a folder, and whose other folder is
// full.
var machines = map[string]Facts{
	"tuned": {FilesSoft: 1024, FilesHard: 1 << 20, FilesHighest: 1 << 20, PortsFirst: 1024, PortsLast: 65535, ReusePorts: 1, Tracked: 12, TrackedMost: 1 << 20,
		Listen: 4096, Backlog: 5000, CPU: "AMD EPYC", CPUs: 16, Online: 16, Governors: "performance", Memory: 64 << 30, Available: 60 << 30,
		Clock: "tsc", Clocks: "tsc hpet acpi_pm", ClockRead: 40, TimerP50: 20 * time.Microsecond, TimerP99: 60 * time.Microsecond,
		Go: "go1.26.8", GoPath: "/usr/local/go/bin/go",
		Folders: []Folder{{Use: "data", Path: "/home/ann/.gobench", Free: new(uint64(20 << 30))}, {Use: "cache", Path: "/home/ann/.cache/gobench", Free: new(uint64(20 << 30))}}},
	"plain": {FilesSoft: 1024, FilesHard: 20_000, FilesHighest: 1 << 20, PortsFirst: 40_000, PortsLast: 60_999, ReusePorts: 2, Tracked: 60_000, TrackedMost: 1 << 16 * 2,
		Listen: 128, Backlog: 300, CPU: "AMD EPYC", CPUs: 2, Online: 8, Quota: 1.5, Governors: "performance, powersave", Memory: 64 << 30, Available: 60 << 30, MemoryLimit: 256 << 20,
		Clock: "hpet", Clocks: "hpet tsc acpi_pm", ClockRead: 1200, TimerP50: 60 * time.Microsecond, TimerP99: 4 * time.Millisecond,
		GoError: "no Go toolchain: compiling a scenario needs Go 1.26.0 or newer (not found in PATH, GOROOT or the usual places)",
		Folders: []Folder{{Use: "data", Path: "/home/ann/.gobench", Free: new(uint64(100 << 20)), Lift: "gobench --dir FOLDER run FILE"}}},
	"broken": {FilesHard: 20, FilesHighest: 4096, PortsFirst: 60_950, PortsLast: 60_999, ReusePorts: -1, Tracked: 65_536, TrackedMost: 65_536, CPUs: 1,
		Memory: 1 << 30, Available: 32 << 20, Clock: "xen", ClockRead: 900,
		Folders: []Folder{{Use: "data", Path: "/home/ann/.gobench", Error: "read-only file system", Lift: "gobench --dir FOLDER run FILE"},
			{Use: "temporary", Path: "/tmp", Free: new(uint64(4096)), Lift: "TMPDIR=FOLDER gobench run FILE"},
			{Use: "cache", Path: "/home/ann/.cache/gobench", Free: new(uint64(20 << 30)), NoExec: true, Lift: "XDG_CACHE_HOME=FOLDER gobench run FILE"}}},
	"silent": {CPUs: 4, ReusePorts: -1, Folders: []Folder{{Use: "data", Path: "/home/ann/.gobench"}, {Use: "cache", Path: "/home/ann/.cache/gobench", Free: new(uint64), Lift: "XDG_CACHE_HOME=FOLDER gobench run FILE"}}},
}

func TestExamine(t *testing.T) {
	t.Parallel()
	for name, facts := range machines {
		var got bytes.Buffer
		all := Examine(facts)
		if err := Write(&got, all); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || got.String() != string(want) {
			t.Errorf("%s: error %v; it is now\n%s", name, err, got.String())
		}
		for _, f := range all {
			if (f.Level == Fine) != (len(f.Lifts) == 0) {
				t.Errorf("%s: %s is %s and has %d commands", name, f.Name, f.Level, len(f.Lifts))
			}
		}
	}
}

// The files of a machine are read to facts; those that are missing or malformed leave zero
// fields.
func TestReadSystem(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"proc/sys/fs/nr_open":                                   "1048576\n",
		"proc/sys/net/ipv4/ip_local_port_range":                 "32768\t60999\n",
		"proc/sys/net/ipv4/tcp_tw_reuse":                        "2\n",
		"proc/sys/net/netfilter/nf_conntrack_count":             "17\n",
		"proc/sys/net/netfilter/nf_conntrack_max":               "262144\n",
		"proc/sys/net/core/somaxconn":                           "4096\n",
		"proc/sys/net/core/netdev_max_backlog":                  "1000\n",
		"proc/cpuinfo":                                          "processor\t: 0\nmodel name\t: AMD EPYC\n\nprocessor\t: 1\nmodel name\t: AMD EPYC\n",
		"sys/devices/system/cpu/online":                         "0-3,8\n",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":  "powersave\n",
		"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor":  "performance\n",
		"sys/devices/system/cpu/cpu10/cpufreq/scaling_governor": "powersave\n",
		"proc/meminfo": "MemTotal:       24684084 kB\nMemFree: 1 kB\nMemAvailable:   20000000 kB\n",
		"sys/devices/system/clocksource/clocksource0/current_clocksource":   "tsc\n",
		"sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet\n",
		"proc/" + strconv.Itoa(os.Getppid()) + "/limits":                    "Limit                     Soft Limit           Hard Limit           Units     \nMax open files            1024                 524288               files     \n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := Facts{FilesSoft: 1024, FilesHighest: 1 << 20, PortsFirst: 32768, PortsLast: 60999, ReusePorts: 2, Tracked: 17, TrackedMost: 262144,
		Listen: 4096, Backlog: 1000, CPU: "AMD EPYC", Online: 5, Governors: "performance, powersave",
		Memory: 24684084 << 10, Available: 20000000 << 10, Clock: "tsc", Clocks: "tsc hpet"}
	var got Facts
	got.readSystem(root)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	got = Facts{ReusePorts: -1}
	got.readSystem(t.TempDir())
	if !reflect.DeepEqual(got, Facts{ReusePorts: -1}) {
		t.Errorf("of no files %+v", got)
	}
}

// This machine is read and measured; for a missing folder the one above it is checked, and
// nothing is left behind.
func TestReadThisMachine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := Read([]Folder{{Use: "data", Path: filepath.Join(dir, "not", "yet")}, {Use: "cache", Path: filepath.Join(file, "below")}})
	if f.FilesHard == 0 || f.CPUs == 0 || f.Online == 0 || f.Memory < f.Available || f.Available == 0 || f.PortsLast <= f.PortsFirst || f.Kernel == "" {
		t.Errorf("%+v", f)
	}
	if f.TimerP50 <= 0 || f.TimerP99 < f.TimerP50 || f.ClockRead <= 0 || f.Clock == "" {
		t.Errorf("timer %v, %v, clock %q %v", f.TimerP50, f.TimerP99, f.Clock, f.ClockRead)
	}
	if d := f.Folders[0]; d.Error != "" || d.Free == nil || *d.Free == 0 {
		t.Errorf("%+v", d)
	}
	if d := f.Folders[1]; !strings.Contains(d.Error, "not a directory") {
		t.Errorf("%+v", d)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
