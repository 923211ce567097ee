// Package system has the functions that differ between operating systems: signals, whether a
// process is alive, free disk space, limits. It also replaces files.
package system

// Disk is a file system.
type Disk struct {
	Free   uint64 // bytes that this user may still write
	NoExec bool   // programs on it can't be run; known on Linux only
}
