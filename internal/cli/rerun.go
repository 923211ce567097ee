package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/show/report"
)

// rerunCommand returns gobench rerun. It prints the id of the new run, or with --follow
// follows that as gobench run --master does.
func (a *app) rerunCommand() *cobra.Command {
	var load loadFlags
	var at masterFlags
	var follow bool
	cmd := &cobra.Command{
		Use:   "rerun RUN",
		Short: "Queue a master's run once more, with the same scenario and options",
		Long: `Queue a master's run once more: the scenario as it was then, also if its application has
changed since, the same options and the same seed, if one was set. With --follow it is as gobench run --master.`,
		Example: "  gobench rerun last\n  gobench rerun last --follow -o second.json",
		Args:    exactArgs(1, "the run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(load.checkOutput(), load.checkFollow(follow)); err != nil {
				return err
			}
			outputs, err := report.OpenOutputs(load.out, a.stdout)
			if err != nil {
				return err
			}
			defer outputs.Discard()
			c, err := a.client(at)
			if err != nil {
				return err
			}
			defer c.Close()
			id, err := remoteID(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			if follow {
				return (&remoteRun{shownRun: shownRun{app: a, load: load}, client: c}).run(cmd.Context(), outputs, func(ctx context.Context) (run.Order, error) { return c.Rerun(ctx, id) })
			}
			o, err := c.Rerun(cmd.Context(), id)
			if err != nil {
				return refusal(err)
			}
			return a.queued(c, o, &load)
		},
	}
	load.addFollow(cmd)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "show the run until it is over, and report")
	at.add(cmd, ofMaster)
	return cmd
}
