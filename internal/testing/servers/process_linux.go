package servers

import "syscall"

// dieWithParent ends a server even if the test's process is killed.
var dieWithParent = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}

// dieWithParentAs is dieWithParent by a signal, for a server that runs as another user; a
// uid of -1 means this process's own.
func dieWithParentAs(uid, gid int, by syscall.Signal) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Pdeathsig: by}
	if uid >= 0 {
		a.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return a
}
