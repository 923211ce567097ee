package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/build"
	"github.com/gobench-io/gobench/internal/run/units"
)

// cleanCommand returns gobench clean. With both --keep and --older a run is deleted only
// if both apply to it. A run that can't be deleted does not end the command: the others
// are deleted, the sum is printed, and the exit status is 1.
func (a *app) cleanCommand() *cobra.Command {
	var keep int
	var older time.Duration
	var all, dry, cache bool
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Delete old runs",
		Long: `Delete old runs: those before the newest N (--keep), those older than some time
(--older), or all. An active run is never deleted. --cache deletes compiled scenarios
instead; they are compiled again when they are needed.`,
		Example: "  gobench clean --keep 20\n  gobench clean --older 720h --dry-run\n  gobench clean --all",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f := cmd.Flags()
			if cache {
				return a.cleanCache(dry)
			}
			if !f.Changed("keep") && !f.Changed("older") && !all {
				return usageError("gobench clean --keep 20 keeps the newest twenty", "name what to delete: runs by --keep, --older or --all, or the --cache")
			}
			if keep < 0 {
				return usageError("", "--keep is %d: want 0 or more", keep)
			}
			if older < 0 {
				return usageError("", "--older is %v: want 0 or more", older)
			}
			h := a.history()
			ids, err := h.List()
			if err != nil {
				return err
			}
			n, freed, err := h.Clean(ids[:max(0, len(ids)-keep)], older, dry)
			verb := "deleted"
			if dry {
				verb = "would delete"
			}
			fmt.Fprintf(a.stdout, "%s %d runs, %s; %d are left\n", verb, n, units.Bytes(float64(freed)), len(ids)-n)
			return err
		},
	}
	cmd.Flags().IntVar(&keep, "keep", 0, "number of runs to keep, the newest")
	timeVar(cmd.Flags(), &older, "older", "", 0, "delete runs older than this, as 720h")
	cmd.Flags().BoolVar(&all, "all", false, "delete all runs")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only print what would be deleted")
	cmd.Flags().BoolVar(&cache, "cache", false, "delete compiled scenarios and what they were compiled from")
	cmd.MarkFlagsMutuallyExclusive("cache", "keep")
	cmd.MarkFlagsMutuallyExclusive("cache", "older")
	cmd.MarkFlagsMutuallyExclusive("cache", "all")
	return cmd
}

// cleanCache deletes the folder of compiled scenarios with all in it and prints its path,
// also if it did not exist (build.Clear). If dry, it only prints the folder.
func (a *app) cleanCache(dry bool) error {
	dir, err := build.Clear(dry)
	if err != nil {
		return err
	}
	verb := "deleted"
	if dry {
		verb = "would delete"
	}
	fmt.Fprintf(a.stdout, "%s %s\n", verb, dir)
	return nil
}
