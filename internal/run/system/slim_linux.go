package system

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Slim releases the pages of the program's own file that only its start needed. Most of
// this program belongs to a master and an agent, and is not used by a run on this machine.
// A page that is needed again is read from the page cache. Errors are ignored.
func Slim() {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer f.Close()
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	for s := bufio.NewScanner(f); s.Scan(); {
		var begin, end uintptr
		var mode string
		if _, err := fmt.Sscanf(s.Text(), "%x-%x %s", &begin, &end, &mode); err != nil || !strings.HasSuffix(s.Text(), " "+self) || mode[1] == 'w' {
			continue
		}
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, begin, end-begin, unix.MADV_DONTNEED) // on an error the pages stay
	}
}
