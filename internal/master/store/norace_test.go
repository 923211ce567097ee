//go:build !race

package store

// raced tells that the race detector is on.
const raced = false
