package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/health"
	"github.com/gobench-io/gobench/internal/history"
	"github.com/gobench-io/gobench/internal/merge"
	"github.com/gobench-io/gobench/internal/report"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// history gives the folder of all runs.
func (a *app) history() history.History {
	dir := a.dir
	if dir == "" {
		if data := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
			dir = filepath.Join(data, "gobench")
		} else if home, err := os.UserHomeDir(); err == nil {
			dir = filepath.Join(home, ".gobench")
		} else {
			dir = ".gobench"
		}
	}
	return history.Open(filepath.Join(dir, "runs"))
}

func (a *app) runsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "runs",
		Short:   "List the runs kept here, the newest last",
		Example: "  gobench runs\n  gobench runs --json | jq .id",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			h := a.history()
			ids, err := h.List()
			if err != nil {
				return &exitError{exitFailed, err, ""}
			}
			if len(ids) == 0 && !asJSON {
				fmt.Fprintln(a.stdout, "no runs yet; make one with: gobench http URL")
			}
			w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			for i, id := range ids {
				r, err := h.Load(id)
				switch {
				case err != nil:
					fmt.Fprintf(a.stderr, "gobench: %v\n", err)
				case asJSON:
					if err := json.NewEncoder(a.stdout).Encode(summaryOf(r)); err != nil {
						return &exitError{exitFailed, err, ""}
					}
				default:
					if i == 0 {
						fmt.Fprintln(w, "ID\tSTARTED\tSTATE\tVERDICT\tTIME\tWHAT")
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, r.Created.Local().Format(time.DateTime), r.State, orElse(string(r.Verdict), "-"),
						report.Seconds(r.Seconds), report.Safe(orElse(r.Config.Target, r.Name)))
				}
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return cmd
}

// summary is a run in the list for programs.
type summary struct {
	ID       string      `json:"id"`
	Name     string      `json:"name"`
	State    run.State   `json:"state"`
	Verdict  run.Verdict `json:"verdict,omitempty"`
	Cause    string      `json:"cause,omitempty"`
	Created  time.Time   `json:"created"`
	Seconds  float64     `json:"seconds"`
	Target   string      `json:"target,omitempty"`
	Complete bool        `json:"complete"`
}

func summaryOf(r *run.Result) summary {
	return summary{r.ID, r.Name, r.State, r.Verdict, r.Cause, r.Created, r.Seconds, r.Config.Target, r.Complete}
}

func (a *app) showCommand() *cobra.Command {
	var out []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show the report of a run again",
		Long: `Show the report of a run again. ID may be the first or last characters of a
run's id, or "last" for the newest.`,
		Example:           "  gobench show last\n  gobench show x7k2 -o result.json\n  gobench show last --json | jq '.metrics[].title'",
		Args:              exactArgs(1, "the run's id, or last"),
		ValidArgsFunction: a.completeIDs,
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := a.load(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				out = append(out, "-")
			}
			files, err := openOutputs(out)
			if err != nil {
				return err
			}
			for _, file := range files {
				if err := a.writeJSON(file, r); err != nil {
					return &exitError{exitFailed, fmt.Errorf("write %s: %w", file.Name(), err), ""}
				}
			}
			if len(files) > 0 {
				return nil
			}
			return report.Text(a.stdout, r, a.history().Dir(r.ID))
		},
	}
	cmd.Flags().StringArrayVarP(&out, "output", "o", nil, "write the result to `FILE.json` instead, - for standard output; may be repeated")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the same as -o -")
	return cmd
}

// load finds and reads a run. One that gobench did not live to finish has its
// figures made again from its batches.
func (a *app) load(part string) (*run.Result, error) {
	h := a.history()
	id, err := h.Find(part)
	if err != nil {
		return nil, &exitError{exitUsage, err, "gobench runs lists them"}
	}
	r, err := h.Load(id)
	if err != nil {
		return nil, &exitError{exitFailed, err, ""}
	}
	if len(r.Metrics) == 0 && r.State != run.Starting {
		m := merge.New(1, interval(r))
		var judge health.Judge
		add := func(executor int, b *wire.Batch) error {
			err := m.Add(executor, b)
			for _, i := range m.Intervals(false) {
				judge.Add(windowOf(i))
			}
			return err
		}
		if err := h.Batches(id, add); err != nil && !errors.Is(err, run.ErrNotFound) {
			return nil, &exitError{exitFailed, err, ""}
		}
		missing := r.Missing
		summarize(r, m)
		r.Missing = append(missing, r.Missing...)
		r.Complete = r.Complete && len(missing) == 0
		giveVerdict(r, &judge)
	}
	return r, nil
}

func interval(r *run.Result) time.Duration {
	return time.Duration(r.Config.Interval * float64(time.Second))
}

// writeJSON writes r with its series, made again from the run's batches, and closes
// the file.
func (a *app) writeJSON(file *os.File, r *run.Result) error {
	write := report.JSON
	if strings.EqualFold(filepath.Ext(file.Name()), ".html") {
		write = report.HTML
	}
	err := write(file, r, func(yield func(run.Interval) error) error {
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
	})
	if file != os.Stdout {
		err = errors.Join(err, file.Close())
	}
	return err
}

func (a *app) completeIDs(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ids, _ := a.history().List()
	return append(ids, "last"), cobra.ShellCompDirectiveNoFileComp
}
