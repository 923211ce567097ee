package cli

import (
	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/load/allowlist"
)

// allowFlag is the flag of where a run may connect to.
type allowFlag struct {
	entries []string
	list    *allowlist.List // nil: everywhere; made by check
}

func (f *allowFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.entries, "allow-target", nil, "connect only to this `HOST`, address or prefix (10.0.0.0/8), with or without :PORT; may be repeated (default everywhere)")
}

func (f *allowFlag) check() (err error) {
	if len(f.entries) == 0 {
		return nil
	}
	if f.list, err = allowlist.New(f.entries, nil); err != nil {
		return usageError("", "--allow-target %w", err)
	}
	return nil
}

// env returns the variables by which an executor learns the list.
func (f *allowFlag) env() []string {
	if f.list == nil {
		return nil
	}
	return []string{allowlist.Env + "=" + f.list.String()}
}
