package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/build"
)

// initCommand returns gobench init, which calls init, or with --sdk renewSDK.
func (a *app) initCommand() *cobra.Command {
	var name string
	var sdk bool
	cmd := &cobra.Command{
		Use:   "init DIR",
		Short: "Write a first scenario, ready to run and to edit",
		Long: `Write a first scenario into the new folder DIR: scenario.go with a go.mod, a README
and, for editors and go vet, gobench's packages below .gobench. It needs no network. A
file that exists is never overwritten.

--sdk writes only .gobench again, with the lines of go.mod that point there: after a
fresh clone of a scenario's repository, or with a newer gobench. gobench run does not
need .gobench: it has its own copy of the packages.`,
		Example: `  gobench init shop
  gobench init load --module example.com/load
  gobench init --sdk shop`,
		Args: exactArgs(1, "the folder to make"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if sdk {
				if cmd.Flags().Changed("module") {
					return usageError("", "--module can't be used with --sdk: go.mod names the module already")
				}
				return a.renewSDK(args[0])
			}
			return a.init(args[0], name)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	cmd.Flags().StringVar(&name, "module", "", "`NAME` of the module in go.mod (default: the folder's name)")
	cmd.Flags().BoolVar(&sdk, "sdk", false, "only write gobench's packages for editors again")
	return cmd
}

// init writes a first scenario into dir (build.SDK.WriteFirst), and prints what to do with it.
// name is the module's; an empty one stands for the folder's.
func (a *app) init(dir, name string) error {
	if err := build.NewSDK(a.sdk).WriteFirst(dir, name); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, `made %s: a first scenario

  cd %s
  gobench target http          # in another terminal: a small server to try it on
  gobench run scenario.go      # the report comes after 10 seconds
`, dir, quoted(dir))
	return nil
}

// renewSDK writes the packages for editors of the scenario in dir again
// (build.SDK.RenewEditorDir), and prints where.
func (a *app) renewSDK(dir string) error {
	file, err := build.NewSDK(a.sdk).RenewEditorDir(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "wrote %s for editors, and its lines in %s\n", filepath.Join(dir, build.EditorDir), file)
	return nil
}

// quoted returns s as one word of a POSIX shell: in single quotes if it has characters
// other than letters, digits and -_./:. An empty s stays empty.
func quoted(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
