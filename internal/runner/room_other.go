//go:build !linux

package runner

const canAdvise = false

func hugePages([]byte) error { return nil }
