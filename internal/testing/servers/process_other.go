//go:build !linux

package servers

import "syscall"

// dieWithParent can't be asked for here: a killed test leaves its servers behind.
var dieWithParent *syscall.SysProcAttr

// dieWithParentAs can't be asked for here, nor another user.
func dieWithParentAs(int, int, syscall.Signal) *syscall.SysProcAttr { return nil }
