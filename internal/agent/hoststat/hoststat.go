// Package hoststat measures a host and some of its processes: load, CPU, memory, network,
// disk, sockets and files.
//
// Rates are averages over the time between two measurements. Values that the system does
// not provide are 0.
package hoststat

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/load"
	"github.com/shirou/gopsutil/v4/mem"
	"github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/process"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// Watch measures one host. New makes it. Its methods may be called by any number of
// goroutines.
type Watch struct {
	dir string // whose disk is measured

	mu        sync.Mutex
	at        time.Time // of the last measurement; guarded by mu, as all below
	cpu       cpu.TimesStat
	in, out   uint64
	read, put uint64
	processes map[int]taken
}

// taken is the CPU time of a process at a measurement.
type taken struct {
	at  time.Time
	cpu float64
}

// New returns a watch and measures the host once. Host reports the free space of the disk
// of dir.
func New(dir string) *Watch {
	w := &Watch{dir: dir, processes: map[int]taken{}}
	w.Host()
	return w
}

// Host measures the host and returns a new measurement. Rates cover the time since the last
// call, by any goroutine, or since New. A value that is unknown is 0.
func (w *Watch) Host() *agentpb.Host {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	seconds := now.Sub(w.at).Seconds()
	rate := func(now, before uint64) float64 {
		if now < before || w.at.IsZero() { // an interface was removed
			return 0
		}
		return float64(now-before) / seconds
	}
	h := &agentpb.Host{}
	if l, err := load.Avg(); err == nil {
		h.Load1, h.Load5, h.Load15 = l.Load1, l.Load5, l.Load15
	}
	if m, err := mem.VirtualMemory(); err == nil {
		h.MemoryTotal, h.MemoryAvailable = int64(m.Total), int64(m.Available)
	}
	if times, err := cpu.Times(false); err == nil && len(times) == 1 {
		h.Cpu, h.CpuSteal = shares(w.cpu, times[0])
		w.cpu = times[0]
	}
	in, out := traffic()
	h.NetIn, h.NetOut = rate(in, w.in), rate(out, w.out)
	read, put := transfers()
	h.DiskRead, h.DiskWrite = rate(read, w.read), rate(put, w.put)
	if u, err := disk.Usage(w.dir); err == nil {
		h.DiskFree = int64(u.Free)
	}
	h.Sockets, h.Files = number("/proc/net/sockstat", "sockets: used"), number("/proc/sys/fs/file-nr", "")
	w.at, w.in, w.out, w.read, w.put = now, in, out, read, put
	return h
}

// shares returns the share of all CPUs that was in use between two measurements, and the
// share that other virtual machines of the same hardware used (steal), each 0 to 1; 0 and 0
// if no time passed.
func shares(before, now cpu.TimesStat) (use, steal float64) {
	idle := now.Idle + now.Iowait - before.Idle - before.Iowait
	// Guest time is part of user time.
	all := func(t cpu.TimesStat) float64 {
		return t.User + t.Nice + t.System + t.Idle + t.Iowait + t.Irq + t.Softirq + t.Steal
	}
	total := all(now) - all(before)
	if total <= 0 {
		return 0, 0
	}
	return within(1 - idle/total), within((now.Steal - before.Steal) / total)
}

func within(f float64) float64 { return min(max(f, 0), 1) }

// traffic returns the bytes that all interfaces but loopback have received and sent since
// the system started; 0 if unknown.
func traffic() (in, out uint64) {
	all, err := net.IOCounters(true)
	if err != nil {
		return 0, 0
	}
	for _, i := range all {
		if i.Name != "lo" && i.Name != "lo0" {
			in += i.BytesRecv
			out += i.BytesSent
		}
	}
	return in, out
}

// transfers returns the bytes that all disks have read and written since the system
// started; 0 if unknown. On Linux partitions and mapped devices are not counted in
// addition.
func transfers() (read, written uint64) {
	all, err := disk.IOCounters()
	if err != nil {
		return 0, 0
	}
	for name, d := range all {
		if runtime.GOOS == "linux" {
			if _, err := os.Stat(filepath.Join("/sys/block", name, "device")); err != nil {
				continue
			}
		}
		read += d.ReadBytes
		written += d.WriteBytes
	}
	return read, written
}

// number returns the first word, between white space, that follows the first occurrence of a
// text in a file, as a whole decimal number; "" means the file's first word. It returns 0 if
// the file or the text is missing, or if that word is anything else.
func number(path, after string) int64 {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(b), after)
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[0], 10, 64) // 0 if the kernel has another form
	return n
}

// Process measures a process. It returns nil if there is no such process; a zombie is one. Its
// Cpu is the average number of CPUs in use since the last call for the same pid; 0 on the
// first. Values that are unknown are 0.
func (w *Watch) Process(pid int) *agentpb.Process {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		w.mu.Lock()
		delete(w.processes, pid)
		w.mu.Unlock()
		return nil
	}
	out := &agentpb.Process{Pid: int64(pid)}
	if t, err := p.Times(); err == nil {
		now := taken{time.Now(), t.User + t.System}
		w.mu.Lock()
		if before, ok := w.processes[pid]; ok && now.at.After(before.at) {
			out.Cpu = max((now.cpu-before.cpu)/now.at.Sub(before.at).Seconds(), 0)
		}
		w.processes[pid] = now
		w.mu.Unlock()
	}
	if m, err := p.MemoryInfo(); err == nil {
		out.Memory = int64(m.RSS)
	}
	if n, err := p.NumThreads(); err == nil {
		out.Threads = int64(n)
	}
	out.Files = files(p)
	return out
}

// files returns how many files a process has open, or 0 if unknown. Linux 6.2 and later
// report it as the size of a folder; for older ones all are listed, which takes long for a
// million.
func files(p *process.Process) int64 {
	if info, err := os.Stat("/proc/" + strconv.Itoa(int(p.Pid)) + "/fd"); err == nil && info.Size() > 0 {
		return info.Size()
	}
	n, err := p.NumFDs()
	if err != nil {
		return 0
	}
	return int64(n)
}

// Hello sets the host's part of an agent's hello. It leaves a name that is set, and values
// that are unknown here. The address must be set before.
func Hello(h *agentpb.Hello) {
	h.Os, h.Arch, h.Cpus = runtime.GOOS, runtime.GOARCH, int32(runtime.NumCPU())
	if h.Name == "" {
		h.Name, _ = os.Hostname() // empty if unknown
	}
	if m, err := mem.VirtualMemory(); err == nil {
		h.Memory = int64(m.Total)
	}
	h.LinkMbits = linkOf(h.Address)
	if v, err := host.KernelVersion(); err == nil {
		h.Kernel = v
	}
	if c, err := cpu.Info(); err == nil && len(c) > 0 {
		h.Cpu = c[0].ModelName
	}
}
