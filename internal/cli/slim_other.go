//go:build !linux

package cli

// slim gives back memory that only the program's start needed, where the system can.
func slim() {}
