package cli

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/measure/threshold"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/show/report"
)

// loadFlags are the flags of every command that makes load. check must be called once
// before the values are used; a command that only follows a run has only those of
// addFollow, and calls checkOutput.
type loadFlags struct {
	duration  time.Duration
	warmup    time.Duration
	interval  time.Duration
	graceful  time.Duration
	seed      uint64
	out       []string
	quiet     bool
	json      bool
	exit      run.Exit
	seedGiven bool
	patient   bool // without --graceful-stop
	inside    insideFlags
	allowed   allowFlag

	expressions []string              // of --threshold
	thresholds  []threshold.Threshold // parsed by check
}

// Bounds of --interval.
const (
	minInterval = 100 * time.Millisecond
	maxInterval = 60 * time.Second
)

// partOfLoad is the help of --warmup where the length of the load is the scenario's or --duration.
const partOfLoad = "leave this time at the beginning of the load, which is a part of its length, out of the totals; the series has it"

// add adds all of the flags to cmd but --duration, whose default each command chooses; warmup is the
// help of --warmup.
func (f *loadFlags) add(cmd *cobra.Command, warmup string) {
	fs := cmd.Flags()
	timeVar(fs, &f.warmup, "warmup", "", 0, warmup)
	timeVar(fs, &f.interval, "interval", "", time.Second, "length of an interval of the series: 100ms to 60s")
	timeVar(fs, &f.graceful, "graceful-stop", "", 30*time.Second, "longest wait at the end for what is in flight; unless it is given, also as long as requests in flight may take")
	fs.Uint64Var(&f.seed, "seed", 0, "seed of the run's random sources (default a new one, which the report shows)")
	fs.StringArrayVar(&f.expressions, "threshold", nil, "a condition to meet, as 'http.latency p99 < 200ms' or 'http.http_fail rate < 1% over 10s abort'; else exit status 4; may be repeated")
	f.addFollow(cmd)
	f.inside.add(cmd)
	f.allowed.add(cmd)
}

// addFollow adds the flags of a run that is followed to its end: --strict, --allow-failure, -o,
// --quiet and --json.
func (f *loadFlags) addFollow(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.exit.AllowFailure, "allow-failure", false, "exit with status 0 though nothing was answered")
	fs.Var((*strictFlag)(&f.exit.Strict), "strict", "exit with status 5 if the run is invalid, suspect (or worse) or incomplete, with 6 if a threshold is undecided: `WHAT` is a list of these words, invalid if left out (--strict=suspect,undecided)")
	fs.Lookup("strict").NoOptDefVal = "invalid"
	_ = cmd.RegisterFlagCompletionFunc("strict", cobra.FixedCompletions(run.StrictWords, cobra.ShellCompDirectiveNoFileComp))
	outputFlag(cmd, &f.out, "write the report to `FILE` as well")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "show only the report")
	fs.BoolVar(&f.json, "json", false, "write each event, as a state or an interval, to standard output as a line of JSON; the report goes to standard error; docs/formats/events.md")
}

// strictFlag is the value of --strict.
type strictFlag run.Strict

func (f *strictFlag) Type() string { return "string" }

// String returns the words that Set takes; "" for the zero value.
func (f *strictFlag) String() string {
	var words []string
	for i, set := range []bool{f.Invalid && !f.Suspect, f.Suspect, f.Incomplete, f.Undecided} {
		if set {
			words = append(words, run.StrictWords[i])
		}
	}
	return strings.Join(words, ",")
}

// Set also takes what the flag was when it had no words: true and false.
func (f *strictFlag) Set(text string) error {
	switch text {
	case "true":
		text = "invalid"
	case "false":
		*f = strictFlag{}
		return nil
	}
	s, err := run.ParseStrict(text)
	if err == nil {
		*f = strictFlag(s)
	}
	return err
}

// check returns a usage error that names the first wrong flag. Otherwise it sets
// thresholds, allowed.list, inside.profiles, patient and seedGiven, and without --seed a random
// seed. Call it once, after cmd was parsed: it appends to thresholds.
func (f *loadFlags) check(cmd *cobra.Command) error {
	switch {
	case f.interval < minInterval || f.interval > maxInterval:
		return usageError("", "--interval is %v: want %v to %v", f.interval, minInterval, maxInterval)
	case f.warmup < 0:
		return usageError("", "--warmup is %v: want 0 or more", f.warmup)
	case f.graceful < 0:
		return usageError("", "--graceful-stop is %v: want 0 or more", f.graceful)
	case f.duration < 0:
		return usageError("", "--duration is %v: want a time above 0, as 30s or 2m", f.duration)
	}
	f.patient = !cmd.Flags().Changed("graceful-stop")
	if err := f.checkOutput(); err != nil {
		return err
	}
	for _, text := range f.expressions {
		t, err := threshold.ParseFor(text, f.interval)
		if err != nil {
			return usageError("quote it for the shell: --threshold 'http.latency p99 < 200ms'; docs/thresholds.md has the grammar", "--threshold: %w%s", err, pointed(err))
		}
		f.thresholds = append(f.thresholds, t)
	}
	if err := f.allowed.check(); err != nil {
		return err
	}
	if err := f.inside.check(cmd); err != nil {
		return err
	}
	f.seedGiven = cmd.Flags().Changed("seed")
	if !f.seedGiven {
		f.seed = rand.Uint64() >> 11 // 53 bits, which a JSON number has in any program
	}
	return nil
}

// checkOutput returns a usage error if both --json and an -o use standard output.
func (f *loadFlags) checkOutput() error {
	if f.json && f.toStandard() {
		return usageError("", "--json and -o - (or -.csv and so on) both want standard output: write the result to a file")
	}
	return nil
}

// checkFollow returns a usage error if follow is false and one of addFollow's flags for the end
// is set.
func (f *loadFlags) checkFollow(follow bool) error {
	if !follow && (len(f.out) > 0 || f.exit.Strict != (run.Strict{}) || f.exit.AllowFailure) {
		return usageError("add --follow", "-o, --strict and --allow-failure are of a run that is followed to its end")
	}
	return nil
}

// toStandard reports whether a report of -o goes to standard output: -o - or -o -.csv, for
// example.
func (f *loadFlags) toStandard() bool {
	return slices.ContainsFunc(f.out, func(name string) bool { return name == "-" || strings.HasPrefix(name, "-.") })
}

// pointed returns a line break and two lines that mark the wrong place of an expression;
// empty if err is not of an expression.
func pointed(err error) string {
	var wrong *threshold.SyntaxError
	if errors.As(err, &wrong) {
		return "\n" + wrong.Pointed()
	}
	return ""
}

// outputFlag adds -o, which may be repeated, to cmd; does begins its help.
func outputFlag(cmd *cobra.Command, names *[]string, does string) {
	cmd.Flags().StringArrayVarP(names, "output", "o", nil, does+", in the format of its ending: "+report.Endings()+"; - is JSON on standard output, -.csv and so on are the other formats; may be repeated")
	var endings []string
	for _, f := range report.Formats {
		endings = append(endings, f.Ending[1:])
	}
	_ = cmd.MarkFlagFilename("output", endings...)
}
