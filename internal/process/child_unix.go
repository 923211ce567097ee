//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// setAttributes puts the child into its own process group, so that Ctrl-C on a terminal
// does not reach it. When this process dies, the executor exits because its stream breaks.
func setAttributes(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
