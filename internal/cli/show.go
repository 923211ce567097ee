package cli

import (
	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/report"
)

func (a *app) showCommand() *cobra.Command {
	var asJSON, full bool
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show the report of a run again",
		Long:  "Show the report of a run again.\n\n" + runArgument,
		Example: `  gobench show last
  gobench show last --full
  gobench show x7k2 --json | jq '.metrics[].title'`,
		Args:              exactArgs(1, "the run's id, or last"),
		ValidArgsFunction: a.completeRuns(1),
		RunE: func(_ *cobra.Command, args []string) error {
			k, err := a.kept(args[0])
			switch {
			case err != nil:
				return err
			case asJSON:
				err = report.JSON(a.stdout, k.Result, k.series)
			default:
				err = report.Text(a.stdout, k.Result, report.Screen{Style: styleOf(a.stdout), Full: full, Dir: k.dir})
			}
			if err != nil {
				return &exitError{exitFailed, err, ""}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON, with its series (docs/formats/result.md)")
	cmd.Flags().BoolVar(&full, "full", false, "all there is, not what fits a screen")
	cmd.MarkFlagsMutuallyExclusive("json", "full")
	return cmd
}

func (a *app) reportCommand() *cobra.Command {
	var out []string
	cmd := &cobra.Command{
		Use:   "report RUN -o FILE",
		Short: "Write the report of a run to files",
		Long:  "Write the report of a run to files, as -o of the run itself would have (docs/reports.md).\n\n" + runArgument,
		Example: `  gobench report last -o result.csv -o result.md
  gobench report x7k2 -o junit.xml
  gobench report result.json -o -.md`,
		Args:              exactArgs(1, "the run's id, or last"),
		ValidArgsFunction: a.completeRuns(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(out) == 0 {
				return usageError("gobench show RUN shows it on the screen", "say what to write: -o FILE, with the ending %s", report.Endings())
			}
			k, err := a.kept(args[0])
			if err != nil {
				return err
			}
			outputs, err := openOutputs(out, a.stdout)
			if err != nil {
				return err
			}
			if err := outputs.write(k.Result, k.series); err != nil {
				return &exitError{exitFailed, err, ""}
			}
			return nil
		},
	}
	outputFlag(cmd, &out, "write the report to `FILE`")
	return cmd
}
