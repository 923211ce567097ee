//go:build !linux

package main

import (
	"errors"
	"time"
)

var errLinux = errors.New("bench needs Linux: it reads /proc and pins to CPUs")

func pinned([]int, func() error) error { return errLinux }
func pin(int, []int) error             { return errLinux }
func allowedCPUs() []int               { return nil }
func lock(string) (func(), error)      { return nil, errLinux }
func openFiles() int                   { return 1024 }
func kernel() string                   { return "unknown" }

func sleep(float64, time.Duration) wakes { return wakes{} }

func (u bareUsers) loop() (bareLoop, error) { return bareLoop{}, errLinux }
