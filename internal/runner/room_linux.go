package runner

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	canAdvise = true
	hugePage  = 2 << 20 // bytes; where they are longer, the system takes those that fit
)

// hugePages asks for huge pages for those that lie in b whole.
func hugePages(b []byte) error {
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) % hugePage
	if uintptr(len(b)) < skip+hugePage {
		return nil
	}
	b = b[skip:]
	return unix.Madvise(b[:len(b)/hugePage*hugePage], unix.MADV_HUGEPAGE)
}
