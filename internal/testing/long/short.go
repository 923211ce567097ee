//go:build !long

package long

// Run reports whether this is make test-long.
const Run = false
