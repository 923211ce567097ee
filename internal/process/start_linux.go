package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// StartTime returns when a process started, in the kernel's ticks since boot, or 0 if it does
// not exist or can't be read. The process id and its start time identify a process uniquely.
func StartTime(pid int) uint64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), ") ") // the name before may hold anything
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return 0
	}
	n, _ := strconv.ParseUint(fields[19], 10, 64) // 0, as if it did not exist
	return n
}
