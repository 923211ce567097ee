//go:build race

package http

// raced: sync.Pool drops a quarter of what it is given under the race detector, on
// purpose, so allocations can't be counted exactly there.
const raced = true
