package build

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// groupAttr starts a process in a new group, and has it killed when this process dies.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killGroup kills every process of the group that pid, above 1, leads. It returns
// os.ErrProcessDone if the group has no process, and does not wait for their end.
func killGroup(pid int) error {
	err := syscall.Kill(-pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// limitGroup sets the kernel's limits for pid and, by inheritance, for all it starts, unless
// the system's are stricter: each process's memory and largest file, no core dumps, and
// processor time somewhat above the time limit, so that a compiler orphaned by a killed
// gobench ends too. The go command starts nothing before this call. It returns nil if pid has
// ended; after another error some limits may be set.
func limitGroup(pid int, l Limits, idle bool) error {
	seconds := uint64(l.Time.Seconds()+1) * uint64(runtime.NumCPU())
	var errs []error
	for _, r := range []struct {
		resource int
		max      uint64
	}{
		{unix.RLIMIT_DATA, uint64(l.Memory)},
		{unix.RLIMIT_FSIZE, uint64(l.Output)},
		{unix.RLIMIT_CPU, seconds},
		{unix.RLIMIT_CORE, 0},
	} {
		var old unix.Rlimit
		if err := unix.Prlimit(pid, r.resource, nil, &old); err != nil {
			errs = append(errs, err)
			continue
		}
		max := min(r.max, old.Max) // a stricter limit of the system stays
		errs = append(errs, unix.Prlimit(pid, r.resource, &unix.Rlimit{Cur: max, Max: max}, nil))
	}
	if idle {
		errs = append(errs, unix.Setpriority(unix.PRIO_PGRP, pid, 19))
	}
	err := errors.Join(errs...)
	if errors.Is(err, unix.ESRCH) {
		return nil // it has ended
	}
	return err
}

// group sums the memory of a process group, from /proc.
type group struct {
	id      []byte
	foreign map[string]bool // processes known to be of other groups
	ticks   int
	page    int64
}

func newGroup(pid int) *group {
	return &group{id: strconv.AppendInt(nil, int64(pid), 10), foreign: map[string]bool{}, page: int64(os.Getpagesize())}
}

// memory returns the resident memory of the group in bytes, pages that processes share
// counted for each; 0 if /proc cannot be read. It must not be called concurrently.
func (g *group) memory() int64 {
	if g.ticks++; g.ticks%50 == 0 {
		clear(g.foreign) // process ids are reused
	}
	dir, err := os.Open("/proc")
	if err != nil {
		return 0
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return 0
	}
	var sum int64
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' || g.foreign[name] {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has ended
		}
		// The command's name, in parentheses, may contain anything.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 22 || !bytes.Equal(fields[2], g.id) {
			g.foreign[name] = true
			continue
		}
		pages, _ := strconv.ParseInt(string(fields[21]), 10, 64)
		sum += pages * g.page
	}
	return sum
}
