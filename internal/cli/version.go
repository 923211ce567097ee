package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/run/version"
	"github.com/gobench-io/gobench/internal/wire"
)

// versionCommand returns gobench version.
func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of gobench",
		Example: "  gobench version\n  gobench version --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := map[string]string{"version": version.Version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
				"protocol": fmt.Sprint(wire.Protocol), "commit": commit()}
			if asJSON {
				return json.NewEncoder(a.stdout).Encode(v)
			}
			fmt.Fprintf(a.stdout, "gobench %s (commit %s, %s, %s/%s)\n", v["version"], cmp.Or(v["commit"], "unknown"), v["go"], v["os"], v["arch"])
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "a JSON object")
	return cmd
}

// commit returns the hash of the commit that this gobench was built from; empty if
// unknown, as without version control.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

// exactArgs returns a check that there are n arguments; see rangeArgs.
func exactArgs(n int, what string) cobra.PositionalArgs { return rangeArgs(n, n, what) }

// rangeArgs returns a check of a command's arguments, which fails with a usage error
// unless there are least to most; what describes them, as "the run's id".
func rangeArgs(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least {
			return usageError("see "+cmd.CommandPath()+" --help", "%s needs %s", cmd.CommandPath(), what)
		}
		if len(args) > most {
			return usageError("see "+cmd.CommandPath()+" --help", "%s takes only %s: %q is one too many", cmd.CommandPath(), what, args[most])
		}
		return nil
	}
}
