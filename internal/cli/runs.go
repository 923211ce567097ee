package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/local/history"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// dataDir returns the folder of gobench's data, which may not exist: --dir, or gobench
// below XDG_DATA_HOME if that is absolute, or else .gobench in the home folder, or in the
// working directory if there is no home.
func (a *app) dataDir() string {
	if a.dir != "" {
		return a.dir
	}
	if data := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, "gobench")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".gobench")
	}
	return ".gobench"
}

// history returns the history of this machine.
func (a *app) history() history.History { return history.Open(filepath.Join(a.dataDir(), "runs")) }

// runsCommand returns gobench runs. A run of this machine whose result can't be read has a
// line on standard error instead, and the exit status is still 0.
func (a *app) runsCommand() *cobra.Command {
	var asJSON bool
	var at masterFlags
	cmd := &cobra.Command{
		Use:     "runs",
		Short:   "List the runs of this machine, or those of a master, the newest last",
		Example: "  gobench runs\n  gobench runs --json | jq .id\n  gobench runs --master http://127.0.0.1:8080",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if at.url != "" {
				return a.runsAt(cmd.Context(), at, asJSON)
			}
			h := a.history()
			ids, err := h.List()
			if err != nil {
				return err
			}
			if len(ids) == 0 && !asJSON {
				fmt.Fprintln(a.stdout, "no runs yet; start one with: gobench http URL")
			}
			w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			for i, id := range ids {
				r, err := h.LoadFigures(id)
				if err != nil {
					fmt.Fprintf(a.stderr, "gobench: %v\n", err)
					r, err = h.Load(id) // without figures, if they can't be computed
				}
				switch {
				case err != nil:
				case asJSON:
					if err := json.NewEncoder(a.stdout).Encode(summaryOf(r)); err != nil {
						return err
					}
				default:
					if i == 0 {
						fmt.Fprintln(w, "ID\tSTARTED\tSTATE\tVERDICT\tTIME\tWHAT")
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, r.Created.Local().Format(time.DateTime), r.State, cmp.Or(string(r.Verdict), "-"),
						units.Seconds(r.Seconds), units.Safe(cmp.Or(r.Config.Target, r.Name)))
				}
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	at.add(cmd, "`URL` of a master whose runs they are")
	return cmd
}

// runsAt lists all runs of a master, the newest last, as a table or one JSON object a line.
// Without runs it prints nothing.
func (a *app) runsAt(ctx context.Context, at masterFlags, asJSON bool) error {
	c, err := a.client(at)
	if err != nil {
		return err
	}
	defer c.Close()
	var all []run.Order
	for o, err := range c.AllRuns(ctx, run.Filter{}) {
		if err != nil {
			return refusal(err)
		}
		all = append(all, o)
	}
	slices.Reverse(all)
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for i, o := range all {
		if asJSON {
			if err := a.encode(o); err != nil {
				return err
			}
			continue
		}
		if i == 0 {
			fmt.Fprintln(w, "ID\tSUBMITTED\tBY\tSTATE\tVERDICT\tTIME\tWHAT")
		}
		took := "-"
		if !o.Started.IsZero() && !o.Ended.IsZero() {
			took = units.Seconds(o.Ended.Sub(o.Started).Seconds())
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", o.ID, o.Created.Local().Format(time.DateTime), units.Safe(o.Owner), o.State, cmp.Or(string(o.Verdict), "-"), took, units.Safe(o.Name))
	}
	return w.Flush()
}

// summary is a run of this machine in the list of --json. Seconds is the time of the load.
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

// load finds and reads a run of this machine; part is as for find. If gobench ended before
// the run did, its figures are computed from its batches. An unknown run has exit status
// 2, one that can't be read has 1.
func (a *app) load(part string) (*run.Result, error) {
	id, err := a.find(part)
	if err != nil {
		return nil, err
	}
	r, err := a.history().LoadFigures(id)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// find returns the id of the run of this machine that part names: "last" for the newest, a
// whole id, or at least 3 characters that an id begins with, or the part of an id after
// its last "-". An unknown and an ambiguous part, and a history that can't be read, have
// exit status 2.
func (a *app) find(part string) (string, error) {
	id, err := a.history().Find(part)
	if err != nil {
		return "", &exitError{exitUsage, err, "gobench runs lists them"}
	}
	return id, nil
}

// completeIDs completes the first argument as the id of a run of this machine, or "last".
// The shell filters the list.
func (a *app) completeIDs(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ids, _ := a.history().List()
	return append(ids, "last"), cobra.ShellCompDirectiveNoFileComp
}
