package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/gobench-io/gobench/internal/run/filelock"
)

// pinned calls start, which starts a process, so that the process runs on the given CPUs
// from its first instruction: a child inherits them from the thread that forks it. If cpus
// is empty, it inherits ours. It returns start's error. If our own CPUs can't be restored
// it returns an error although the process may run.
func pinned(cpus []int, start func() error) error {
	if len(cpus) == 0 {
		return start()
	}
	runtime.LockOSThread()
	var old unix.CPUSet
	if err := unix.SchedGetaffinity(0, &old); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("read CPU affinity: %w", err)
	}
	if err := pin(0, cpus); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	err := start()
	if e := unix.SchedSetaffinity(0, &old); e != nil {
		// Keep the lock: the thread then ends with its goroutine, and no other
		// goroutine ever runs on so few CPUs.
		return fmt.Errorf("restore CPU affinity: %w", e)
	}
	runtime.UnlockOSThread()
	return err
}

// pin moves the thread pid to the given CPUs; 0 is the calling thread, to which the goroutine
// must be locked. It returns an error for no CPUs. The other threads of a process stay where
// they are.
func pin(pid int, cpus []int) error {
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(pid, &set); err != nil {
		return fmt.Errorf("pin process %d to CPUs %v: %w", pid, cpus, err)
	}
	return nil
}

// allowedCPUs returns the numbers of the CPUs that this process may use, in order; nil if
// they can't be read.
func allowedCPUs() (cpus []int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(os.Getpid(), &set) != nil {
		return nil
	}
	for c := range len(set) * 64 {
		if set.IsSet(c) {
			cpus = append(cpus, c)
		}
	}
	return cpus
}

// lock prevents two benches on one machine from measuring each other. It creates the file
// path and does not wait: if another process has the lock, it returns an error. unlock,
// and the end of the process, release it; the file remains.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if ok, err := filelock.Try(f); !ok || err != nil {
		f.Close()
		return nil, errors.Join(fmt.Errorf("another bench is running (%s)", path), err)
	}
	return func() { f.Close() }, nil
}

// kernel returns the release, as uname -r prints it; "unknown" if it can't be read.
func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}

// openFiles returns how many files our processes may have open: the hard limit, at most
// 1,048,576; 1024 if it can't be read.
func openFiles() int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 1024
	}
	return int(min(l.Max, 1<<20))
}
