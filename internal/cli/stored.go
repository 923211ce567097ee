package cli

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/api/client"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/show/report"
)

// stored is a run of before: of the history, of a file that -o FILE.json wrote, or of a
// master. Its series is read when it is called, each time again. The caller must Close it.
type stored struct {
	*run.Result
	series report.Intervals
	dir    string         // in the history; else empty
	client *client.Client // of a master; else nil
}

// Close closes the client of the run's master; the series can't be read afterwards.
func (s *stored) Close() {
	if s.client != nil {
		s.client.Close()
	}
}

// runArgument explains in help how a command's arguments name runs.
const runArgument = `A run is named by the first or last characters of its id, by "last" for the newest,
or by a file that -o FILE.json wrote.`

// storedAt finds and reads a run: of the master of at if that has a URL, by remoteID, else
// as stored does. A run of a master may still be active: its result is the one so far. The
// caller must Close the run.
func (a *app) storedAt(ctx context.Context, at masterFlags, name string) (*stored, error) {
	if at.url == "" {
		return a.stored(name)
	}
	c, err := a.client(at)
	if err != nil {
		return nil, err
	}
	s := &stored{client: c}
	id, err := remoteID(ctx, c, name)
	if err == nil {
		s.series = seriesAt(ctx, c, id)
		s.Result, err = c.Result(ctx, id)
	}
	if err != nil {
		s.Close()
		return nil, refusal(err)
	}
	return s, nil
}

// stored reads the file name, if that has a path separator or ends in .json, else the run
// of this machine's history that name stands for, as for find. A missing or invalid file
// and an unknown run have exit status 2, a run that can't be read has status 1.
func (a *app) stored(name string) (*stored, error) {
	if strings.ContainsRune(name, filepath.Separator) || strings.EqualFold(filepath.Ext(name), ".json") {
		r, series, err := report.Read(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, usageError("gobench runs lists the stored runs", "%s: there is no such file", name)
		}
		if err != nil {
			return nil, usageError("the format is that of -o FILE.json", "%w", err)
		}
		return &stored{Result: r, series: series}, nil
	}
	r, err := a.load(name)
	if err != nil {
		return nil, err
	}
	return &stored{Result: r, series: a.series(r), dir: a.history().Dir(r.ID)}, nil
}

// series returns the series of a run of this machine, computed again from its batches at
// each call.
func (a *app) series(r *run.Result) report.Intervals {
	return func(yield func(run.Interval) error) error { return a.history().Series(r, yield) }
}

// completeRuns completes the first most arguments as names of runs of this machine, or as
// files.
func (a *app) completeRuns(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ids, _ := a.completeIDs(cmd, nil, begin)
		return ids, cobra.ShellCompDirectiveDefault // a file may be one
	}
}
