package testenv

import "syscall"

// dieWithParent ends a server even if the test's process is killed.
var dieWithParent = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
