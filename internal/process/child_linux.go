package process

import (
	"os/exec"
	"syscall"
)

// setAttributes puts the child into its own process group, so that Ctrl-C on a terminal
// does not reach it, and lets the kernel kill it when this process dies.
func setAttributes(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
