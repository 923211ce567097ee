//go:build race

package http

// raced: under the race detector sync.Pool drops a quarter of its items on purpose, so exact
// allocation counts are not possible.
const raced = true
