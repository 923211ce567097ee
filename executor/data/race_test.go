//go:build race

package data

// raced reports that the race detector is on: it empties pools at random.
const raced = true
