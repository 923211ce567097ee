package sandbox_test

import (
	"testing"

	"github.com/gobench-io/gobench/internal/agent/sandbox"
)

// What a previous process has left is killed, but not what runs as the same user now, in
// another box.
func TestAnEarlierBoxOfTheSameUser(t *testing.T) {
	root(t)
	b, cmd, _ := box(t, sandbox.Options{}, "sleep")
	earlier := b.State
	earlier.Mark, earlier.Cgroups, earlier.Folder = "another", nil, t.TempDir()
	if err := sandbox.Open(earlier).Close(); err != nil {
		t.Error(err)
	}
	if !alive(cmd.Process.Pid) {
		t.Error("the end of an earlier box of the user was the end of this one")
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if alive(cmd.Process.Pid) {
		t.Error("its own end was not")
	}
}
