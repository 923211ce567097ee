//go:build unix && !linux

package build

import (
	"errors"
	"os"
	"syscall"
)

// groupAttr starts a process in a new group.
func groupAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills every process of the group that pid, above 1, leads. It returns
// os.ErrProcessDone if the group has no process, and does not wait for their end.
func killGroup(pid int) error {
	err := syscall.Kill(-pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// limitGroup sets the group's priority; this system cannot limit another process.
func limitGroup(pid int, _ Limits, idle bool) error {
	if idle {
		return syscall.Setpriority(syscall.PRIO_PGRP, pid, 19)
	}
	return nil
}

// group measures nothing on this system: there is no /proc.
type group struct{}

func newGroup(int) *group { return &group{} }

func (*group) memory() int64 { return 0 }
