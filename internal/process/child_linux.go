package process

import (
	"os/exec"
	"syscall"
)

// setAttributes gives the child a process group of its own, so that a terminal's
// Ctrl-C reaches only us, and its death with ours.
func setAttributes(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
