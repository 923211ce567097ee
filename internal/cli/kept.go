package cli

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/health"
	"github.com/gobench-io/gobench/internal/merge"
	"github.com/gobench-io/gobench/internal/report"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
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

// kept finds and reads a run.
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

// series gives a run's series, made again from its batches.
func (a *app) series(r *run.Result) report.Intervals {
	return func(yield func(run.Interval) error) error {
		m := merge.New(1, interval(r))
		var judge health.Judge
		send := func(all bool) error {
			for _, i := range m.Intervals(all) {
				i.Health = judge.Add(windowOf(i))
				if err := yield(i); err != nil {
					return err
				}
			}
			return nil
		}
		err := a.history().Batches(r.ID, func(executor int, b *wire.Batch) error {
			if err := m.Add(executor, b); err != nil {
				return err
			}
			return send(false)
		})
		return errors.Join(err, send(true))
	}
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
