//go:build !linux

package sandbox

import (
	"os"
	"os/exec"
)

// Main does nothing here: there is no helper.
func Main() {}

// Command makes the command that runs the executable, with an environment of env alone.
func (b *Box) Command(executable *os.File, env []string) (*exec.Cmd, error) {
	return &exec.Cmd{Path: executable.Name(), Args: []string{executable.Name()}, Env: env, Dir: b.Home()}, nil
}

// Kill leaves the box's processes to who started them: here nothing else knows them.
func (b *Box) Kill() error { return nil }

// OOMKills is not known here.
func (b *Box) OOMKills() int { return 0 }

// OpenFiles is not known here.
func OpenFiles() uint64 { return 0 }

func (b *Box) sweep()                    {}
func takeUser(int) (int, func(), error)  { return 0, func() {}, nil }
func keepUser(int) (func(), bool)        { return func() {}, true }
func makeCgroups(string, int64) []string { return nil }
func plannedCgroups(string) []string     { return nil }
func removeCgroups([]string)             {}

// CompilerUser is the one that compiles, where that can be another than this one.
const CompilerUser = 0
