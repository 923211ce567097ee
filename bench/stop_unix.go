//go:build unix

package main

import "syscall"

func stopProcess(pid int) { _ = syscall.Kill(pid, syscall.SIGSTOP) }

func continueProcess(pid int) { _ = syscall.Kill(pid, syscall.SIGCONT) }
