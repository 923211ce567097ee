package health

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// host reads the machine's figures from /proc and the cgroup's. It leaves out files that are
// missing or malformed. The caller must call open, once, before the other methods; close has
// nothing to do.
type host struct {
	root   string // prefix of every path, for tests
	buf    []byte
	groups cgroups
	links  links

	cpu                  cpuTimes
	own                  time.Duration
	swapIn, sent, resent uint64
	pressure             uint64
	drops                uint64
}

// open makes the buffer of file, and finds the cgroups and network cards whose figures read
// records.
func (h *host) open() {
	h.buf = make([]byte, 32<<10)
	h.groups.open(h)
	h.links.open(h)
}

func (h *host) close() {}

// file reads the beginning of a file, at most 32 KiB; the result is valid until the next
// call. ok is false if the file is empty or cannot be read.
func (h *host) file(name string) ([]byte, bool) {
	fd, err := unix.Open(h.root+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, false
	}
	defer unix.Close(fd)
	n := 0
	for n < len(h.buf) {
		m, err := unix.Read(fd, h.buf[n:])
		if err == unix.EINTR {
			continue
		}
		if m <= 0 || err != nil {
			break
		}
		n += m
	}
	return h.buf[:n], n > 0
}

// read records the machine's figures, counters as their growth since the last call, which
// was elapsed ago; the first call, with 0, counts from boot and must be ignored. Figures
// that it cannot read are left out.
func (h *host) read(elapsed time.Duration, record func(Metric, int64)) {
	h.readCPU(record)
	h.groups.read(h, elapsed, record)
	h.links.read(h, elapsed, record)
	if b, ok := h.file("/proc/pressure/cpu"); ok {
		if p, ok := parsePressure(b); ok {
			record(Pressure, share(grown(p, h.pressure), max(1, uint64(elapsed.Microseconds()))))
			h.pressure = p
		}
	}
	if b, ok := h.file("/proc/meminfo"); ok {
		total, ok := field(b, "MemTotal")
		available, also := field(b, "MemAvailable")
		if ok && also && total >= available {
			record(Memory, share(total-available, total))
		}
	}
	if b, ok := h.file("/proc/vmstat"); ok {
		if n, ok := field(b, "pswpin"); ok {
			record(SwapIn, int64(grown(n, h.swapIn)))
			h.swapIn = n
		}
	}
	if b, ok := h.file("/proc/net/snmp"); ok {
		if sent, resent, ok := parseTCP(b); ok {
			// a share of few segments means nothing
			record(Retransmits, share(grown(resent, h.resent), max(1000, grown(sent, h.sent))))
			h.sent, h.resent = sent, resent
		}
	}
	if b, ok := h.file("/proc/net/softnet_stat"); ok {
		if n, ok := parseSoftnet(b); ok {
			record(Drops, int64(grown(n, h.drops)))
			h.drops = n
		}
	}
	// Since Linux 6.2 the directory's size is the number of open files; to count them one
	// by one would cost more than all the rest.
	var st unix.Stat_t
	if unix.Stat("/proc/self/fd", &st) == nil && st.Size > 0 {
		record(OpenFiles, st.Size)
	}
}

// ticks is the number of /proc/stat's ticks in a second, on every Linux.
const ticks = 100

// readCPU records CPU, Steal and OwnCPU since the last call, the first since boot; nothing if
// they cannot be read or no tick has passed.
func (h *host) readCPU(record func(Metric, int64)) {
	b, _ := h.file("/proc/stat")
	t, ok := parseStat(b)
	var ru unix.Rusage
	if !ok || unix.Getrusage(unix.RUSAGE_SELF, &ru) != nil {
		return
	}
	own := time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	if total := grown(t.total, h.cpu.total); total > 0 {
		record(CPU, share(grown(t.busy, h.cpu.busy), total))
		record(Steal, share(grown(t.steal, h.cpu.steal), total))
		record(OwnCPU, min(1000, int64(math.Round(1000*(own-h.own).Seconds()*ticks/float64(total)))))
	}
	h.cpu, h.own = t, own
}

// grown returns the growth of a counter; 0 if it fell, as it has restarted.
func grown(now, before uint64) uint64 {
	if now < before {
		return 0
	}
	return now - before
}

// share returns part of whole in thousandths, at most 1000; if part is above 0, at least 1.
// It returns 0 if whole is 0.
func share(part, whole uint64) int64 {
	if part == 0 || whole == 0 {
		return 0
	}
	return int64(min(1000, max(1, math.Round(1000*float64(part)/float64(whole)))))
}
