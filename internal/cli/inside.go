package cli

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run/units"
	"github.com/gobench-io/gobench/internal/show/lines"
	"github.com/gobench-io/gobench/internal/wire"
)

// insideFlags are the flags that look inside a run: docs/inside.md. check must be called
// once, before profiles is used.
type insideFlags struct {
	once       bool
	iterations int64 // of each user of --once; 0: one
	verbose    bool

	cpuTime time.Duration
	files   [len(profileKinds)]string // of profiles, in the order of profileKinds

	profiles []profileFile // those that are requested, set by check
}

// profileFile is a profile that a flag requests.
type profileFile struct {
	flag, name string // as typed
	profile    *wire.Profile
}

// profileKinds are the profiles of an executor, as the wire names them.
var profileKinds = [...]struct{ kind, flag, what string }{
	{"cpu", "cpu-profile", "write a CPU profile of the executor to this `FILE`, for go tool pprof"},
	{"heap", "heap-profile", "write a heap profile of the executor at the end of the load to this `FILE`, for go tool pprof"},
	{"mutex", "mutex-profile", "write a mutex profile of the executor to this `FILE`, for go tool pprof"},
	{"block", "block-profile", "write a block profile of the executor to this `FILE`, for go tool pprof"},
	{"trace", "trace", "write an execution trace of the executor to this `FILE`, for go tool trace; some MB a second"},
}

// notOnce are the flags of how much load is made.
var notOnce = []string{"duration", "warmup", "requests", "connections", "rate", "stage", "poisson", "drop", "streams"}

// add adds the flags to cmd.
func (f *insideFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.once, "once", false, "run one user and one iteration, and show every exchange, check and step, without secrets")
	fs.BoolVar(&f.verbose, "verbose", false, "log what gobench and the executor do to standard error; never a line for each request")
	for i, p := range profileKinds {
		fs.StringVar(&f.files[i], p.flag, "", p.what)
		_ = cmd.MarkFlagFilename(p.flag)
	}
	timeVar(fs, &f.cpuTime, "cpu-profile-duration", "", 0, "length of the CPU profile (default the whole load)")
	fs.Lookup("cpu-profile-duration").DefValue = "" // the text has the default
}

// check returns a usage error for flags that exclude each other, and for two profiles with
// one file. Otherwise it appends the requested profiles to f.profiles, with absolute
// paths. Call it once, after cmd was parsed.
func (f *insideFlags) check(cmd *cobra.Command) error {
	given := cmd.Flags().Changed
	if f.once {
		for _, name := range notOnce {
			if cmd.Flags().Lookup(name) != nil && given(name) {
				return usageError("leave --"+name+" out, or --once", "--once and --%s exclude each other: --once is one user and one iteration", name)
			}
		}
	}
	switch {
	case f.cpuTime < 0:
		return usageError("", "--cpu-profile-duration is %v: want a time above 0", f.cpuTime)
	case given("cpu-profile-duration") && f.files[0] == "":
		return usageError("add --cpu-profile FILE", "--cpu-profile-duration needs --cpu-profile")
	}
	var names []string
	for i, p := range profileKinds {
		if f.files[i] == "" {
			continue
		}
		full, err := filepath.Abs(f.files[i])
		if err != nil {
			return usageError("", "--%s: %w", p.flag, err)
		}
		if slices.Contains(names, full) {
			return usageError("name another file for each profile", "--%s: %s is another profile's file", p.flag, f.files[i])
		}
		names = append(names, full)
		profile := &wire.Profile{Kind: p.kind, File: full}
		if p.kind == "cpu" {
			profile.DurationNs = int64(f.cpuTime)
		}
		f.profiles = append(f.profiles, profileFile{p.flag, f.files[i], profile})
	}
	return nil
}

// refuseRemote returns a usage error if a flag is set that needs a run on this machine:
// --once, --verbose or that of a profile. Call check before.
func (f *insideFlags) refuseRemote() error {
	switch {
	case f.once:
		return usageError("run it without --master: one user needs no cluster", "--once is only for runs on this machine")
	case f.verbose:
		return usageError("gobench logs RUN shows what executors print; the master has its own log", "--verbose is only for runs on this machine")
	case len(f.profiles) > 0:
		return usageError("gobench profile RUN takes a profile of an executor during a run", "--%s is only for runs on this machine", f.profiles[0].flag)
	}
	return nil
}

// makeFiles creates the files of the profiles, or empties those that exist, before the run
// begins, so that a wrong name does not cost a run. A file that can't be created is a usage
// error; those before it remain, empty. Call check before.
func (f *insideFlags) makeFiles() error {
	for _, p := range f.profiles {
		file, err := os.Create(p.profile.File)
		if errors.Is(err, fs.ErrNotExist) {
			return usageError("make the folder first", "--%s %s: the folder does not exist", p.flag, p.name)
		}
		if err != nil {
			return usageError("", "--%s: %w", p.flag, err)
		}
		file.Close()
	}
	return nil
}

// wireProfiles returns the profiles that the executor is to write; nil if no flag requests
// one. It returns f's own values, not copies. Call check before.
func (f *insideFlags) wireProfiles() (all []*wire.Profile) {
	for _, p := range f.profiles {
		all = append(all, p.profile)
	}
	return all
}

// seen shows an exchange, check or step of --once on l.text(), or a line of the executor's
// log as an event. Control characters are replaced.
func (l *localRun) seen(m *wire.Seen) {
	if m.Log {
		l.logLines(lines.ExecutorLog(m.Text))
		return
	}
	_, _ = io.WriteString(l.text(), lines.Seen(m.Text)) // a closed terminal does not end the run
}

// logLines shows the lines in b, of --verbose, as one event, which is one entry of the
// view's queue. It does not retain b.
func (l *localRun) logLines(b []byte) {
	var safe []string
	for line := range strings.Lines(string(b)) {
		safe = append(safe, units.Safe(strings.TrimSuffix(line, "\n")))
	}
	l.emit(event.Event{Kind: event.Log, Text: strings.Join(safe, "\n")})
}

// logger returns the log of --verbose, to w; without that flag it writes nothing.
func (f *insideFlags) logger(w io.Writer) *slog.Logger {
	if !f.verbose {
		return slog.New(slog.DiscardHandler)
	}
	return lines.NewLog(w)
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }
