package cli

import (
	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/load/allowlist"
)

// allowFlag says where a run may connect to.
type allowFlag struct {
	entries []string
	list    *allowlist.List // nil: everywhere; made by check
}

func (f *allowFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.entries, "allow-target", nil, "connect to this `HOST`, address or prefix (10.0.0.0/8), each with :PORT or without, and to nothing else; may be repeated (default everywhere)")
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

// env tells an executor.
func (f *allowFlag) env() []string {
	if f.list == nil {
		return nil
	}
	return []string{allowlist.Env + "=" + f.list.String()}
}
