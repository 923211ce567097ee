package health

import (
	"bytes"
	"strconv"
	"strings"
)

// cpuTimes are a machine's CPU times since boot, in ticks, of all CPUs together: total is all
// of them, and busy all but idle, iowait and steal.
type cpuTimes struct{ busy, steal, total uint64 }

// parseStat reads the first line of /proc/stat (proc_stat(5)): "cpu user nice system idle
// iowait irq softirq steal ...". Columns after steal are left out, as others include them;
// those that an old kernel lacks count as 0. ok is false if it is another line or malformed; t
// may then be partly filled.
func parseStat(b []byte) (t cpuTimes, ok bool) {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	f := bytes.Fields(line)
	if len(f) < 5 || string(f[0]) != "cpu" {
		return t, false
	}
	for i, s := range f[1:min(len(f), 9)] { // user includes what guests use
		n, err := strconv.ParseUint(string(s), 10, 64)
		if err != nil {
			return t, false
		}
		t.total += n
		switch i {
		case 3, 4: // idle, waiting for a disk
		case 7:
			t.steal = n
		default:
			t.busy += n
		}
	}
	return t, true
}

// field reads the number after a name at the beginning of a line: "pswpin 0", "MemTotal:
// 24684084 kB". ok is false if no line has it, or the first that does has no whole number.
func field(b []byte, name string) (uint64, bool) {
	for len(b) > 0 {
		var line []byte
		line, b, _ = bytes.Cut(b, []byte("\n"))
		rest, ok := bytes.CutPrefix(line, []byte(name))
		if !ok {
			continue
		}
		f := bytes.Fields(bytes.TrimPrefix(rest, []byte(":")))
		if len(f) == 0 || len(rest) > 0 && rest[0] != ' ' && rest[0] != ':' {
			continue
		}
		n, err := strconv.ParseUint(string(f[0]), 10, 64)
		return n, err == nil
	}
	return 0, false
}

// parsePressure reads for how many microseconds since boot some process waited for a CPU,
// from "some avg10=63.18 avg60=48.89 avg300=26.83 total=1120992369". The averages are over
// 10 s and more, so they would include earlier seconds. ok is false for other texts.
func parsePressure(b []byte) (micros uint64, ok bool) {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	some, total, ok := bytes.Cut(line, []byte(" total="))
	if !ok || !bytes.HasPrefix(some, []byte("some ")) {
		return 0, false
	}
	micros, err := strconv.ParseUint(string(total), 10, 64)
	return micros, err == nil
}

// parseTCP reads the segments sent and retransmitted since boot from /proc/net/snmp, where
// a line of names precedes each line of numbers. ok is false unless both are there; the one
// that is there may then be set.
func parseTCP(b []byte) (out, again uint64, ok bool) {
	var names []string
	found := 0
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] != "Tcp:" {
			continue
		}
		if names == nil {
			names = f
			continue
		}
		for i := 1; i < min(len(f), len(names)); i++ {
			n, err := strconv.ParseUint(f[i], 10, 64)
			if err != nil {
				continue // MaxConn is -1
			}
			switch names[i] {
			case "OutSegs":
				out, found = n, found+1
			case "RetransSegs":
				again, found = n, found+1
			}
		}
		return out, again, found == 2
	}
	return 0, 0, false
}

// parseSoftnet adds up the packets that the CPUs dropped since boot, the second number
// (hexadecimal) of each line of /proc/net/softnet_stat. ok is false if a line is malformed
// or b is empty.
func parseSoftnet(b []byte) (dropped uint64, ok bool) {
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 3 {
			return 0, false
		}
		_, err := strconv.ParseUint(f[0], 16, 32) // packets taken
		n, err2 := strconv.ParseUint(f[1], 16, 32)
		if err != nil || err2 != nil {
			return 0, false
		}
		dropped += n
		ok = true
	}
	return dropped, ok
}

// carried holds the bytes that a network device received and sent.
type carried struct{ in, out uint64 }

// parseDevices reads /proc/net/dev: two header lines, then "eth0: 1 2 ...", of which the
// first number is bytes received and the ninth bytes sent. It returns them by name, without
// malformed lines.
func parseDevices(b []byte) map[string]carried {
	devices := map[string]carried{}
	for line := range strings.Lines(string(b)) {
		name, rest, ok := strings.Cut(line, ":")
		f := strings.Fields(rest)
		if !ok || len(f) < 9 {
			continue
		}
		in, err := strconv.ParseUint(f[0], 10, 64)
		out, err2 := strconv.ParseUint(f[8], 10, 64)
		if err == nil && err2 == nil {
			devices[strings.TrimSpace(name)] = carried{in, out}
		}
	}
	return devices
}
