//go:build !linux

package testenv

import "syscall"

// dieWithParent can't be asked for here: a killed test leaves its servers behind.
var dieWithParent *syscall.SysProcAttr
