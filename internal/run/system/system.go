// Package system holds what gobench asks of an operating system and what each of them does
// in its own way: signals, whether a process is alive, free disk space, limits.
package system

// Disk is a file system.
type Disk struct {
	Free   uint64 // bytes that this user may still write
	NoExec bool   // programs on it can't be run; known on Linux only
}
