//go:build !linux

package store

// networkFS is not implemented on this platform.
func networkFS(string) (string, error) { return "", nil }
