package health

import "testing"

const (
	stat     = "cpu  255765 17858 173973 944628 1492 0 24102 585 0 0\ncpu0 1 2 3 4\n"
	snmp     = "Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: RtoAlgorithm RtoMin RtoMax MaxConn OutSegs RetransSegs InErrs\nTcp: 1 200 120000 -1 90981965 27093 0\nUdp: InDatagrams\nUdp: 5\n"
	softnet  = "02e71131 00000001 00000005 00000000\n02867c5d 0000000f 00000004 00000000\n"
	pressure = "some avg10=63.18 avg60=48.89 avg300=26.83 total=1120992369\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
	meminfo  = "MemTotal:       24684084 kB\nMemFree:        19301508 kB\nMemAvailable:   23902708 kB\n"
	cpuStat1 = "nr_periods 40\nnr_throttled 7\nthrottled_time 123456\n"
	cpuStat2 = "usage_usec 5\nuser_usec 3\nnr_periods 41\nnr_throttled 8\nthrottled_usec 9\n"
)

func TestParse(t *testing.T) {
	t.Parallel()
	if c, ok := parseStat([]byte(stat)); !ok || c != (cpuTimes{busy: 255765 + 17858 + 173973 + 24102, steal: 585, total: 255765 + 17858 + 173973 + 944628 + 1492 + 24102 + 585}) {
		t.Errorf("stat: %+v, %v", c, ok)
	}
	if out, again, ok := parseTCP([]byte(snmp)); !ok || out != 90981965 || again != 27093 {
		t.Errorf("snmp: %d, %d, %v", out, again, ok)
	}
	if n, ok := parseSoftnet([]byte(softnet)); !ok || n != 16 {
		t.Errorf("softnet: %d, %v", n, ok)
	}
	if n, ok := parsePressure([]byte(pressure)); !ok || n != 1120992369 {
		t.Errorf("pressure: %d, %v", n, ok)
	}
	for _, tt := range []struct {
		text, name string
		want       uint64
	}{
		{meminfo, "MemTotal", 24684084}, {meminfo, "MemAvailable", 23902708}, {"pswpin 3\npswpout 4\n", "pswpin", 3}, {"pswpinned 9\npswpin 3", "pswpin", 3},
		{cpuStat1, "nr_periods", 40}, {cpuStat1, "nr_throttled", 7}, {cpuStat2, "nr_periods", 41}, {cpuStat2, "nr_throttled", 8},
	} {
		if n, ok := field([]byte(tt.text), tt.name); !ok || n != tt.want {
			t.Errorf("%s: %d, %v", tt.name, n, ok)
		}
	}
	for _, name := range []string{"Mem", "SwapTotal", ""} {
		if n, ok := field([]byte(meminfo), name); ok {
			t.Errorf("%q: %d", name, n)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "\n", "cpu", "cpu a b c d e\n", "cpu 1 2 3", "intr 1 2 3 4 5\n", "some avg10=1.00", "some avg10=1 total=-1", "full avg10=1 total=5", "Tcp: OutSegs RetransSegs\n", "Tcp: OutSegs\nTcp: 5\n", "1\n", "x y\n"} {
		_, a := parseStat([]byte(s))
		_, _, b := parseTCP([]byte(s))
		_, c := parseSoftnet([]byte(s))
		_, d := parsePressure([]byte(s))
		if a || b || c || d {
			t.Errorf("%q is taken: stat %v, snmp %v, softnet %v, pressure %v", s, a, b, c, d)
		}
	}
}

// A parser returns whatever the kernel's files contain.
func FuzzParse(f *testing.F) {
	for _, s := range []string{stat, snmp, softnet, pressure, meminfo, cpuStat1, cpuStat2, "0::/a\n", mountsOne, devices, "20000 100000\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, ok := parseStat(b); ok && len(b) < 100 && c.total < c.busy {
			return // sums past 64 bits wrap
		}
		parsePressure(b)
		parseTCP(b)
		parseSoftnet(b)
		field(b, "pswpin")
		parseCgroups(b)
		parseMounts(b)
		parseDevices(b)
		if cpus, ok := parseCPUMax(b); ok && !(cpus > 0) {
			t.Errorf("%q is a quota of %v CPUs", b, cpus)
		}
	})
}
