//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// setAttributes gives the child a process group of its own, so that a terminal's
// Ctrl-C reaches only us. Here the kernel does not end it with us; it ends itself
// when its stream breaks.
func setAttributes(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
