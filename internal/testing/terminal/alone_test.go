//go:build linux

package terminal

import (
	"testing"

	"github.com/gobench-io/gobench/internal/testing/servers"
)

// gobench without a command is a master with an agent, at the ports that its help names. On
// a terminal it logs plain text, which has the link for making the first user.
func TestAlone(t *testing.T) {
	t.Parallel()
	servers.OwnNetwork(t, func(t *testing.T) {
		s := onScreen(t, 240, 40, nil, "gobench", "--dir", t.TempDir())
		s.sees("level=INFO", `msg="gobench is ready"`, "api=http://127.0.0.1:8080/", "agents=127.0.0.1:8081", "http://127.0.0.1:8080/#setup=", "state=ready")
		s.types("\x03")
		s.sees("ending: cancelling the active run")
		s.exits(0)
	})
}
