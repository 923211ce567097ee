//go:build !linux || race || (!amd64 && !arm64)

package conn

// On other systems, and under the race detector, reads have no time of the kernel's.
const canStamp = false

func stampReads(int) {}

func sysReadStamped(fd uintptr, p []byte) (n int, at int64, err error) { panic("never called") }
