package process

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// setAttributes puts the child into its own process group, so that Ctrl-C reaches only us.
// The kernel does not end it with us; it ends itself when its stream breaks.
func setAttributes(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}
