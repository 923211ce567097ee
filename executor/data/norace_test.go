//go:build !race

package data

const raced = false
