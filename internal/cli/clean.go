package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/history"
	"github.com/gobench-io/gobench/internal/report"
	"github.com/gobench-io/gobench/internal/run"
)

func (a *app) cleanCommand() *cobra.Command {
	var keep int
	var older time.Duration
	var all, dry bool
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Delete old runs",
		Long: `Delete old runs. Say which: those before the newest N (--keep), those older than
some time (--older), or all. A run that goes on is never deleted.`,
		Example: "  gobench clean --keep 20\n  gobench clean --older 720h --dry-run\n  gobench clean --all",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f := cmd.Flags()
			if !f.Changed("keep") && !f.Changed("older") && !all {
				return usageError("gobench clean --keep 20 keeps the newest twenty", "say which runs to delete: --keep, --older or --all")
			}
			if keep < 0 {
				return usageError("", "--keep is %d: want 0 or more", keep)
			}
			h := a.history()
			ids, err := h.List()
			if err != nil {
				return &exitError{exitFailed, err, ""}
			}
			doomed := ids
			if f.Changed("keep") {
				doomed = ids[:max(0, len(ids)-keep)]
			}
			var freed, n int64
			var failed error
			for _, id := range doomed {
				if f.Changed("older") && time.Since(history.Created(id)) < older {
					continue
				}
				if r, err := h.Load(id); err == nil && !r.State.Final() {
					continue
				}
				size := h.Size(id)
				if !dry {
					if err := h.Remove(id); err != nil && !errors.Is(err, run.ErrNotFound) {
						failed = errors.Join(failed, err)
						continue
					}
				}
				freed += size
				n++
			}
			verb := "deleted"
			if dry {
				verb = "would delete"
			}
			fmt.Fprintf(a.stdout, "%s %d runs, %s; %d are left\n", verb, n, report.Bytes(float64(freed)), int64(len(ids))-n)
			if failed != nil {
				return &exitError{exitFailed, failed, ""}
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&keep, "keep", 0, "keep the newest so many runs")
	cmd.Flags().DurationVar(&older, "older", 0, "delete runs older than this, as 720h")
	cmd.Flags().BoolVar(&all, "all", false, "delete all runs")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say what would be deleted")
	return cmd
}
