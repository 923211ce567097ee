package cli

import (
	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/load/allowlist"
)

// allowFlag is the flag --allow-target: where a run may connect to. The caller must call
// check before it uses list or env.
type allowFlag struct {
	entries []string
	list    *allowlist.List // nil: everywhere; made by check
}

func (f *allowFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.entries, "allow-target", nil, "connect only to this `HOST`, address or prefix (10.0.0.0/8), with or without :PORT; may be repeated (default everywhere)")
}

// check parses the entries into list, which stays nil if the flag is not set. A wrong
// entry is a usage error.
func (f *allowFlag) check() (err error) {
	if len(f.entries) == 0 {
		return nil
	}
	if f.list, err = allowlist.New(f.entries, nil); err != nil {
		return usageError("", "--allow-target %w", err)
	}
	return nil
}

// env returns the environment variable (NAME=VALUE) by which an executor receives the
// list; nil if connections to everywhere are allowed.
func (f *allowFlag) env() []string {
	if f.list == nil {
		return nil
	}
	return []string{allowlist.Env + "=" + f.list.String()}
}
