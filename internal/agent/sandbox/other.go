//go:build !linux

package sandbox

import (
	"os"
	"os/exec"
)

// Main returns at once: there is no helper here.
func Main() {}

// Command returns the command that runs the executable, with the environment env.
func (b *Box) Command(executable *os.File, env []string) (*exec.Cmd, error) {
	return &exec.Cmd{Path: executable.Name(), Args: []string{executable.Name()}, Env: env, Dir: b.Home()}, nil
}

// Kill returns nil. Here only the caller that started the box's processes can kill them.
func (b *Box) Kill() error { return nil }

// OOMKills returns 0, as it is unknown here.
func (b *Box) OOMKills() int { return 0 }

// OpenFiles returns 0, as it is unknown here.
func OpenFiles() uint64 { return 0 }

func (b *Box) sweep()                    {}
func takeUser(int) (int, func(), error)  { return 0, func() {}, nil }
func reserveUser(int) (func(), bool)     { return func() {}, true }
func makeCgroups(string, int64) []string { return nil }
func plannedCgroups(string) []string     { return nil }
func removeCgroups([]string)             {}

// CompilerUser is the user that compiles, on systems where that can be another user.
const CompilerUser = 0
