package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/build"
	"github.com/gobench-io/gobench/internal/doctor"
	"github.com/gobench-io/gobench/internal/run/units"
	"github.com/gobench-io/gobench/internal/run/version"
)

// doctorCommand returns gobench doctor; doctor runs it.
func (a *app) doctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine can do, and what lifts its limits",
		Long: `Say what this machine can do: how many users its open files and ports carry, CPUs,
memory, how exact its timers are (measured now), settings of the kernel, Go, and the
folders that gobench writes to. Below each limit stand commands that lift it, each by
itself. Nothing is changed.

The exit status is 0 when any run can begin, and 1 when something would stop one.`,
		Example: "  gobench doctor\n  gobench doctor --json | jq -r '.findings[] | select(.level != \"fine\") | .text'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.doctor(cmd.Context(), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "a JSON object: facts as they were read, and findings")
	return cmd
}

// doctor examines this machine and prints the findings, for people or as a JSON object. If
// a finding would stop a run, it returns an error with exit status 1 and no text. It
// measures timers for a quarter of a second. A missing Go toolchain is a finding.
func (a *app) doctor(ctx context.Context, asJSON bool) error {
	facts := doctor.Read(a.folders())
	if b, err := a.builder(slog.New(slog.DiscardHandler)); err == nil { // else its cache can't be written, as a finding says
		facts.GoPath, facts.Go, err = b.Toolchain(ctx)
		if err != nil {
			facts.GoError, _, _ = strings.Cut(err.Error(), "\n")
		}
	}
	all := doctor.Examine(facts)
	stops, _ := doctor.Stops(all)
	var err error
	if asJSON {
		e := json.NewEncoder(a.stdout)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		err = e.Encode(struct {
			Gobench  string           `json:"gobench"`
			OK       bool             `json:"ok"`
			Findings []doctor.Finding `json:"findings"`
			Facts    doctor.Facts     `json:"facts"`
		}{version.Version, stops == 0, all, facts})
	} else {
		fmt.Fprintf(a.stdout, "gobench %s on %s/%s %s\n\n", version.Version, facts.OS, facts.Arch, units.Safe(facts.Kernel))
		err = doctor.Write(a.stdout, all)
	}
	if err != nil {
		return err
	}
	if stops > 0 {
		return &exitError{status: exitFailed} // the findings say it
	}
	return nil
}

// folders returns the folders that runs write to: data, temporary files and, if it is
// known, the cache of compiled scenarios. They need not exist.
func (a *app) folders() []doctor.Folder {
	list := []doctor.Folder{
		{Use: "data", Path: filepath.Dir(a.history().Dir("")), Lift: "gobench --dir FOLDER run FILE"},
		{Use: "temporary", Path: os.TempDir(), Lift: "TMPDIR=FOLDER gobench run FILE"},
	}
	if dir, err := build.DefaultDir(); err == nil {
		list = append(list, doctor.Folder{Use: "cache", Path: dir, Lift: "XDG_CACHE_HOME=FOLDER gobench run FILE"})
	}
	return list
}
