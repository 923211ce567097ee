//go:build !linux

package cli

// slim releases memory on Linux only.
func slim() {}
