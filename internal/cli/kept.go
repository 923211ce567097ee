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

// kept is a run that was made before: one of the history, or a file of -o FILE.json.
type kept struct {
	*run.Result
	series report.Intervals
	dir    string // where the history keeps it; of a file none
}

// runArgument says in help how a command's arguments name runs.
const runArgument = `A run is named by the first or last characters of its id, by "last" for the newest,
or by a file that -o FILE.json wrote.`

// keptAt finds and reads a run: one of a master where --master is.
func (a *app) keptAt(ctx context.Context, at masterFlags, name string) (*kept, error) {
	if at.url == "" {
		return a.kept(name)
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
	return &kept{r, seriesAt(ctx, c, id), ""}, nil
}

// kept finds and reads a run of this machine.
func (a *app) kept(name string) (*kept, error) {
	if strings.ContainsRune(name, filepath.Separator) || strings.EqualFold(filepath.Ext(name), ".json") {
		r, series, err := report.Read(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, usageError("gobench runs lists the runs kept here", "%s: there is no such file", name)
		}
		if err != nil {
			return nil, usageError("-o FILE.json writes such files", "%w", err)
		}
		return &kept{r, series, ""}, nil
	}
	r, err := a.load(name)
	if err != nil {
		return nil, err
	}
	return &kept{r, a.series(r), a.history().Dir(r.ID)}, nil
}

// series returns the series of a run of this machine, computed again from its batches.
func (a *app) series(r *run.Result) report.Intervals {
	return func(yield func(run.Interval) error) error { return a.history().Series(r, yield) }
}

// completeRuns completes up to so many arguments that name runs.
func (a *app) completeRuns(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ids, _ := a.completeIDs(cmd, nil, begin)
		return ids, cobra.ShellCompDirectiveDefault // a file may be one
	}
}
