package cli

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/threshold"
)

// loadFlags are the flags of every command that makes load.
type loadFlags struct {
	duration time.Duration
	warmup   time.Duration
	interval time.Duration
	graceful time.Duration
	seed     uint64
	out      []string
	quiet    bool
	strict   bool

	expressions []string              // of --threshold
	thresholds  []threshold.Threshold // those, read by check
}

// Bounds of --interval.
const (
	minInterval = 100 * time.Millisecond
	maxInterval = 60 * time.Second
)

func (f *loadFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	timeVar(fs, &f.warmup, "warmup", "", 0, "leave the load's first so much out of the totals; it is kept in the series")
	timeVar(fs, &f.interval, "interval", "", time.Second, "length of an interval of the series: 100ms to 60s")
	timeVar(fs, &f.graceful, "graceful-stop", "", 30*time.Second, "how long what is in flight is waited for at the end")
	fs.Uint64Var(&f.seed, "seed", 0, "seed of the run's random sources (default a new one, which the report tells)")
	fs.StringArrayVar(&f.expressions, "threshold", nil, "a condition to meet, as 'http.latency p99 < 200ms' or 'http.http_fail rate < 1% over 10s abort'; else exit status 4; may be repeated")
	fs.BoolVar(&f.strict, "strict", false, "exit with status 5 when the verdict is INVALID: gobench itself could not measure rightly")
	fs.StringArrayVarP(&f.out, "output", "o", nil, "write the result to `FILE.json` as well, - for standard output; may be repeated")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "show only the report")
	_ = cmd.MarkFlagFilename("output", "json")
}

// check refuses values that cannot be, naming the flag, and picks a seed.
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
	for _, text := range f.expressions {
		t, err := parseThreshold(text, f.interval)
		if err != nil {
			return usageError("quote it for the shell: --threshold 'http.latency p99 < 200ms'; docs/thresholds.md has the grammar", "--threshold: %w%s", err, pointed(err))
		}
		f.thresholds = append(f.thresholds, t)
	}
	if !cmd.Flags().Changed("seed") {
		f.seed = rand.Uint64() >> 11 // 53 bits: any program that reads the JSON keeps it whole
	}
	return nil
}

// outputs opens the files of -o before the run begins: a wrong name must not cost
// a run.
func (f *loadFlags) outputs() ([]*os.File, error) { return openOutputs(f.out) }

func openOutputs(names []string) (files []*os.File, err error) {
	for _, name := range names {
		if name == "-" {
			files = append(files, os.Stdout)
			continue
		}
		if ext := filepath.Ext(name); !strings.EqualFold(ext, ".json") && !strings.EqualFold(ext, ".html") {
			return nil, usageError("name it FILE.json or FILE.html", "-o %s: no report is known by the ending %q", name, ext)
		}
		file, err := os.Create(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, usageError("make the folder first", "-o %s: the folder does not exist", name)
		}
		if err != nil {
			return nil, usageError("", "-o %v", err)
		}
		files = append(files, file)
	}
	return files, nil
}
