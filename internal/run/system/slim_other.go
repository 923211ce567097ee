//go:build !linux

package system

// Slim releases memory on Linux only.
func Slim() {}
