package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/show/report"
)

// manyRuns is how many runs a table of them may have.
const manyRuns = 1000

// showCommand returns gobench show, of one run, of two or of more. --full with several runs is a
// usage error.
func (a *app) showCommand() *cobra.Command {
	var asJSON, full bool
	var at masterFlags
	cmd := &cobra.Command{
		Use:   "show RUN [RUN...]",
		Short: "Show the report of a run again, two runs side by side, or a table of several",
		Long: `Show the report of a run again. Of two runs, show first what differed between them, then
the figures that matter and how much they changed. Of more, show a table: target,
concurrency, rate, p50, p95, p99, failures and verdict of each.

` + runArgument,
		Example: `  gobench show last
  gobench show last --full
  gobench show x7k2 --json | jq '.metrics[].title'
  gobench show before.json last
  gobench show before.json result.json last`,
		Args:              rangeArgs(1, manyRuns, "the run's id, or last"),
		ValidArgsFunction: a.completeRuns(manyRuns),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := a.storedAt(cmd.Context(), at, args[0])
			if err != nil {
				return err
			}
			defer r.Close()
			switch {
			case len(args) > 1 && full:
				return usageError("", "--full is for one run")
			case len(args) > 2:
				err = a.selection(cmd.Context(), r, at, args[1:], asJSON)
			case len(args) == 2:
				err = a.compare(cmd.Context(), r, at, args[1], asJSON)
			case asJSON:
				err = report.JSON(a.stdout, r.Result, r.series)
			default:
				err = report.Text(a.stdout, r.Result, report.Screen{Style: styleOf(a.stdout), Full: full, Dir: r.dir})
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON: a run with its series (docs/formats/result.md), several runs as docs/reports.md has it")
	cmd.Flags().BoolVar(&full, "full", false, "show all, not only what fits a screen")
	cmd.MarkFlagsMutuallyExclusive("json", "full")
	at.add(cmd, "`URL` of a master whose run it is")
	return cmd
}

// compare prints run r and another, which storedAt finds at the same place, side by side: as
// text, or as JSON. It does not close r.
func (a *app) compare(ctx context.Context, r *stored, at masterFlags, other string, asJSON bool) error {
	b, err := a.storedAt(ctx, at, other)
	if err != nil {
		return err
	}
	defer b.Close()
	c := report.Compare(r.Result, b.Result)
	if at.url == "" {
		c.Earlier(r.Result, b.Result, a.earlier(r.Name))
	}
	if asJSON {
		return c.JSON(a.stdout)
	}
	return c.Text(a.stdout, styleOf(a.stdout))
}

// maxEarlier is how many runs of the history a comparison looks at, at most.
const maxEarlier = 200

// earlier returns the newest runs of this machine's history with a name, without those that can't
// be read.
func (a *app) earlier(name string) (all []*run.Result) {
	h := a.history()
	ids, _ := h.List() // without a history it is empty
	for _, id := range ids[max(0, len(ids)-maxEarlier):] {
		if r, err := h.Load(id); err == nil && r.Name == name {
			all = append(all, r)
		}
	}
	return all
}

// selection prints run r and others, which storedAt finds at the same place, in one table: as
// text, or as JSON. It does not close r.
func (a *app) selection(ctx context.Context, r *stored, at masterFlags, others []string, asJSON bool) error {
	all := []*run.Result{r.Result}
	for _, name := range others {
		x, err := a.storedAt(ctx, at, name)
		if err != nil {
			return err
		}
		defer x.Close()
		all = append(all, x.Result)
	}
	s := report.Select(all...)
	if asJSON {
		return s.JSON(a.stdout)
	}
	return s.Text(a.stdout, styleOf(a.stdout))
}

// reportCommand returns gobench report. It needs at least one -o; if one of them can't be
// written, the others are.
func (a *app) reportCommand() *cobra.Command {
	var out []string
	var at masterFlags
	cmd := &cobra.Command{
		Use:   "report RUN -o FILE",
		Short: "Write the report of a run to files",
		Long:  "Write the report of a run to files, as -o of the run itself would have (docs/reports.md).\n\n" + runArgument,
		Example: `  gobench report last -o result.csv -o result.md
  gobench report x7k2 -o junit.xml
  gobench report result.json -o -.md`,
		Args:              exactArgs(1, "the run's id, or last"),
		ValidArgsFunction: a.completeRuns(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(out) == 0 {
				return usageError("gobench show RUN shows it on the screen", "-o FILE is missing, with the ending %s", report.Endings())
			}
			r, err := a.storedAt(cmd.Context(), at, args[0])
			if err != nil {
				return err
			}
			defer r.Close()
			outputs, err := report.OpenOutputs(out, a.stdout)
			if err != nil {
				return err
			}
			return outputs.Write(r.Result, r.series)
		},
	}
	outputFlag(cmd, &out, "write the report to `FILE`")
	at.add(cmd, "`URL` of a master whose run it is")
	return cmd
}
