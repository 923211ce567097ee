package cli

import (
	"bytes"
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
	"github.com/gobench-io/gobench/internal/wire"
)

// insideFlags are the flags that look inside a run: docs/inside.md.
type insideFlags struct {
	once       bool
	iterations int64 // of each user of --once; 0: one
	verbose    bool

	cpuTime time.Duration
	files   [len(profileKinds)]string // of profiles, by profileKinds

	profiles []profileFile // those that are asked for, made by check
}

// profileFile is a profile that a flag asks for.
type profileFile struct {
	flag, name string // as they were given
	profile    *wire.Profile
}

// profileKinds are the profiles of an executor, as the wire names them.
var profileKinds = [...]struct{ kind, flag, what string }{
	{"cpu", "cpu-profile", "write a CPU profile of the executor to this `FILE`, for go tool pprof"},
	{"heap", "heap-profile", "write what the executor's memory holds when the load is over to this `FILE`, for go tool pprof"},
	{"mutex", "mutex-profile", "write where the executor waits for locks to this `FILE`, for go tool pprof"},
	{"block", "block-profile", "write where the executor's goroutines wait to this `FILE`, for go tool pprof"},
	{"trace", "trace", "write an execution trace of the executor to this `FILE`, for go tool trace; some MB a second"},
}

// notOnce are the flags that say how much load there is to be.
var notOnce = []string{"duration", "warmup", "requests", "connections", "rate", "stage", "poisson", "drop", "streams"}

func (f *insideFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.once, "once", false, "one user, one iteration: show every exchange, check and step, without secrets")
	fs.BoolVar(&f.verbose, "verbose", false, "say on standard error what gobench and the executor do; never a line for each request")
	for i, p := range profileKinds {
		fs.StringVar(&f.files[i], p.flag, "", p.what)
		_ = cmd.MarkFlagFilename(p.flag)
	}
	timeVar(fs, &f.cpuTime, "cpu-profile-duration", "", 0, "how long the CPU profile is taken (default as long as the load lasts)")
	fs.Lookup("cpu-profile-duration").DefValue = "" // which the text says
}

// check refuses what does not go together, and files that can't be written.
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
		return usageError("add --cpu-profile FILE", "--cpu-profile-duration is of --cpu-profile")
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
			return usageError("give each profile its own file", "--%s: %s is another profile's file", p.flag, f.files[i])
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

// refuseRemote refuses what is of a run on this machine only.
func (f *insideFlags) refuseRemote() error {
	switch {
	case f.once:
		return usageError("run it without --master: one user needs no cluster", "--once is of runs on this machine")
	case f.verbose:
		return usageError("gobench logs RUN has what executors print, and the master's own log the rest", "--verbose is of runs on this machine")
	case len(f.profiles) > 0:
		return usageError("gobench profile RUN takes one of an executor while the run goes on", "--%s is of runs on this machine", f.profiles[0].flag)
	}
	return nil
}

// makeFiles makes the files of the profiles before the run begins: a wrong name must not
// cost a run.
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

// wireProfiles returns the profiles that the executor is to write.
func (f *insideFlags) wireProfiles() (all []*wire.Profile) {
	for _, p := range f.profiles {
		all = append(all, p.profile)
	}
	return all
}

// seen shows what the executor lets be seen.
func (l *localRun) seen(m *wire.Seen) {
	if m.Log {
		var lines bytes.Buffer
		log := l.load.inside.logger(&lines)
		for line := range strings.Lines(m.Text) {
			at, said, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			log.Info(said, "by", "executor", "at", at)
		}
		l.logLines(lines.Bytes())
		return
	}
	var b strings.Builder
	if !strings.HasPrefix(m.Text, "* ") { // a check or a step belongs to what came before
		b.WriteString("\n")
	}
	for line := range strings.Lines(m.Text) {
		b.WriteString(units.Safe(strings.TrimSuffix(line, "\n")) + "\n")
	}
	_, _ = io.WriteString(l.text(), b.String()) // a closed terminal does not end the run
}

// logLines tells lines of --verbose, as one event: a view's queue is for pieces.
func (l *localRun) logLines(b []byte) {
	var safe []string
	for line := range strings.Lines(string(b)) {
		safe = append(safe, units.Safe(strings.TrimSuffix(line, "\n")))
	}
	l.tell(event.Event{Kind: event.Log, Text: strings.Join(safe, "\n")})
}

// text is where people read the report: standard output, unless a report for programs
// goes there.
func (l *localRun) text() io.Writer {
	if l.load.json || l.load.toStandard() {
		return l.stderr
	}
	return l.stdout
}

// logger gives the log of --verbose, written to w; else one that writes nothing.
func (f *insideFlags) logger(w io.Writer) *slog.Logger {
	if !f.verbose {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch {
		case a.Key == slog.LevelKey:
			return slog.Attr{}
		case a.Key == slog.TimeKey:
			return slog.String(slog.TimeKey, a.Value.Time().Format("15:04:05.000"))
		}
		return a
	}}))
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }
