//go:build race

package store

// raced tells that the race detector is on, which makes SQLite ten times as slow: tests
// of its speed do less.
const raced = true
