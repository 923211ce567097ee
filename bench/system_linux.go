package main

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// pinned calls start, which starts a process, so that the process runs on the given CPUs
// from its first instruction: a child inherits them from the thread that forks it. If cpus
// is empty, it inherits ours.
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

// pin moves the thread pid to the given CPUs.
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

// allowedCPUs are the CPUs that this process may use.
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

// lock prevents two benches on one machine from measuring each other. It does not wait: if
// another process has the lock, it returns an error.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another bench is running (%s: %w)", path, err)
	}
	return func() { f.Close() }, nil
}

// kernel is the release, as uname -r prints it.
func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}

// openFiles is the limit of open files of our processes.
func openFiles() int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 1024
	}
	return int(min(l.Max, 1<<20))
}
