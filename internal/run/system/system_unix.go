//go:build unix

package system

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Alive reports whether a process with that id, which must be above 0, exists, also one of
// another user.
func Alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Interrupt sends this process the signal of Ctrl-C.
func Interrupt() { _ = syscall.Kill(os.Getpid(), syscall.SIGINT) }

// Terminate asks a process to end. It returns an error if there is no such process, or if it
// belongs to another user.
func Terminate(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) }

// KillGroup kills all processes of a group. No such group is not an error. pid must be above
// 1: 0 would mean this process's own group, and 1 all processes.
func KillGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// Detached makes a child outlive this process and its terminal.
func Detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// DiskOf returns the file system that an existing file or directory is on.
func DiskOf(dir string) (Disk, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return Disk{}, err
	}
	return Disk{Free: uint64(st.Bavail) * uint64(st.Bsize), NoExec: noExec(&st)}, nil
}

// Kernel returns the release of the operating system's kernel, empty if unknown.
func Kernel() string {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return ""
	}
	return unix.ByteSliceToString(name.Release[:])
}

// OpenFiles returns how many files this process may have open, now (soft) and if it raises
// its limit (hard); a huge number without a limit, 0 if unknown.
func OpenFiles() (soft, hard uint64) {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0, 0
	}
	return uint64(limit.Cur), uint64(limit.Max)
}

// Columns returns the width of the terminal f in characters; 0 if the terminal does not know
// it. It returns an error if f is not a terminal.
func Columns(f *os.File) (int, error) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, err
	}
	return int(size.Col), nil
}
