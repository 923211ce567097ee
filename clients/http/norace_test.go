//go:build !race

package http

const raced = false
