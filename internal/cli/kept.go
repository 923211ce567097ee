package cli

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/show/report"
)

// stored is a run of before: of the history, of a file that -o FILE.json wrote, or of a
// master.
type stored struct {
	*run.Result
	series report.Intervals
	dir    string // in the history; else empty
}

// runArgument explains in help how a command's arguments name runs.
const runArgument = `A run is named by the first or last characters of its id, by "last" for the newest,
or by a file that -o FILE.json wrote.`

// storedAt finds and reads a run: with --master one of that master.
func (a *app) storedAt(ctx context.Context, at masterFlags, name string) (*stored, error) {
	if at.url == "" {
		return a.stored(name)
	}
	c, err := a.client(at)
	if err != nil {
		return nil, err
	}
	id, err := remoteID(ctx, c, name)
	if err != nil {
		return nil, err
	}
	r, err := c.Result(ctx, id)
	if err != nil {
		return nil, refusal(err)
	}
	return &stored{r, seriesAt(ctx, c, id), ""}, nil
}

// stored finds and reads a run of this machine, or of a file.
func (a *app) stored(name string) (*stored, error) {
	if strings.ContainsRune(name, filepath.Separator) || strings.EqualFold(filepath.Ext(name), ".json") {
		r, series, err := report.Read(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, usageError("gobench runs lists the stored runs", "%s: there is no such file", name)
		}
		if err != nil {
			return nil, usageError("the format is that of -o FILE.json", "%w", err)
		}
		return &stored{r, series, ""}, nil
	}
	r, err := a.load(name)
	if err != nil {
		return nil, err
	}
	return &stored{r, a.series(r), a.history().Dir(r.ID)}, nil
}

// series returns the series of a run of this machine, computed again from its batches.
func (a *app) series(r *run.Result) report.Intervals {
	return func(yield func(run.Interval) error) error { return a.history().Series(r, yield) }
}

// completeRuns completes the first most arguments as names of runs.
func (a *app) completeRuns(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ids, _ := a.completeIDs(cmd, nil, begin)
		return ids, cobra.ShellCompDirectiveDefault // a file may be one
	}
}
