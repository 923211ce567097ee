package cli

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run/units"
	"github.com/gobench-io/gobench/internal/show/doctor"
)

// preflight says, before the load begins, that there are more users than this machine
// has open files for, what lifts the limit, and what happens now. The run goes on:
// users may share connections.
func (l *localRun) preflight() {
	r := l.result
	var users int64
	for _, c := range r.Config.Classes {
		users += c.Users
	}
	carried := int64(doctor.Users(r.Environment.OpenFiles))
	if r.Environment.OpenFiles == 0 || users <= carried {
		return
	}
	note := fmt.Sprintf("%s users on a limit of %s open files: if each has a connection of its own, about %s connect, and what the others do fails with class local_fd",
		units.Count(users), units.Count(int64(r.Environment.OpenFiles)), units.Count(carried))
	r.Notes = append(r.Notes, note)
	warning := fmt.Sprintf("warning: %s\nThe run goes on, and would be INVALID then. Ctrl-C ends it; any of these lifts the limit (gobench doctor tells more):", note)
	highest, _ := os.ReadFile("/proc/sys/fs/nr_open")
	n, _ := strconv.ParseUint(strings.TrimSpace(string(highest)), 10, 64) // 0: not told
	for _, lift := range doctor.FileLifts(n) {
		warning += fmt.Sprintf("\n  %-21s %s", lift.Where+":", lift.Command)
	}
	l.tell(event.Event{Kind: event.Warning, Text: warning})
}
