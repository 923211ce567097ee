//go:build unix

package runner

import (
	"syscall"
	"time"
)

const canReadCPU = true

// ownCPU returns the CPU time that this process has used, in user and system mode; 0 if the
// system does not report it.
func ownCPU() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
