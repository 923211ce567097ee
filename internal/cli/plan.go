package cli

import (
	"fmt"

	"github.com/gobench-io/gobench/internal/report"
	"github.com/gobench-io/gobench/internal/run"
)

// settingUp says what is done before the load, and what the machine allows.
func settingUp(users int64, e *run.Environment) string {
	s := fmt.Sprintf("setting up %s users", report.Count(users))
	if e.OpenFiles > 0 && e.OpenFiles < 1<<40 { // else there is no limit
		s += fmt.Sprintf("; %s open files are allowed", report.Count(int64(e.OpenFiles)))
	}
	return s
}
