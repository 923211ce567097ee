package process

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// setAttributes gives the child a process group of its own, so that Ctrl-C reaches only us.
// The kernel does not end it with us; it ends itself when its stream breaks.
func setAttributes(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}
