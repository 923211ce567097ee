//go:build !linux

package main

import "errors"

var errLinux = errors.New("bench needs Linux: it reads /proc and pins to CPUs")

func pinned([]int, func() error) error { return errLinux }
func pin(int, []int) error             { return errLinux }
func allowedCPUs() []int               { return nil }
func lock(string) (func(), error)      { return nil, errLinux }
func kernel() string                   { return "unknown" }
