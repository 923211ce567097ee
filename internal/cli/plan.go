package cli

import (
	"fmt"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// settingUp says what is done before the load, and what the machine allows.
func settingUp(users int64, e *run.Environment) string {
	s := fmt.Sprintf("setting up %s users", units.Count(users))
	if e.OpenFiles > 0 && e.OpenFiles < 1<<40 { // else there is no limit
		s += fmt.Sprintf("; %s open files are allowed", units.Count(int64(e.OpenFiles)))
	}
	return s
}
