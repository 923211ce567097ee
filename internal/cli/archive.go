package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/local/history"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/show/report"
)

// exportCommand returns gobench export; export runs it.
func (a *app) exportCommand() *cobra.Command {
	var out string
	var at masterFlags
	cmd := &cobra.Command{
		Use:   "export RUN",
		Short: "Write a run with its series to a file that import reads",
		Long: `Write a run that is over, of this machine or of a master, to a file that gobench import
reads here, on another host, or into another master. It is a tar compressed by zstd with
the folder of the run (docs/formats/run.md).

` + runArgument,
		Example:           "  gobench export last\n  gobench export x7k2 --master http://127.0.0.1:8080 -o before.tar.zst",
		Args:              exactArgs(1, "the run's id, or last"),
		ValidArgsFunction: a.completeRuns(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.export(cmd.Context(), at, args[0], out) },
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "`FILE` that it is written to, - for standard output (default RUN.tar.zst)")
	_ = cmd.MarkFlagFilename("output")
	at.add(cmd, "`URL` of a master whose run it is")
	return cmd
}

// export writes the archive of the run name to the file out, and prints its path: of this
// machine if at has no URL, else of that master. If out is empty, the file is ID.tar.zst
// in the working directory; "-" is standard output, to which a part may have been written
// if it fails, and without the path. A file is replaced only by a complete archive.
func (a *app) export(ctx context.Context, at masterFlags, name, out string) error {
	var id string
	var write func(io.Writer) error
	if at.url == "" {
		var err error
		if id, err = a.find(name); err != nil {
			return err
		}
		write = func(w io.Writer) error { return a.history().Export(id, w) }
	} else {
		c, err := a.client(at)
		if err != nil {
			return err
		}
		defer c.Close()
		if id, err = remoteID(ctx, c, name); err != nil {
			return err
		}
		in, err := c.Export(ctx, id)
		if err != nil {
			return refusal(err)
		}
		defer in.Close()
		write = func(w io.Writer) error { _, err := io.Copy(w, in); return err }
	}
	if out == "-" {
		return write(a.stdout)
	}
	if out == "" {
		out = id + ".tar.zst"
	}
	err := report.WriteFile(out, func(to io.Writer) error {
		w := bufio.NewWriter(to)
		return errors.Join(write(w), w.Flush())
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, out)
	return nil
}

// importCommand returns gobench import; importRun runs it.
func (a *app) importCommand() *cobra.Command {
	var at masterFlags
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Add the run of a file that export wrote to the history, or to a master",
		Long: `Add the run of a file that gobench export wrote to the history of this machine, or to a
master. It is refused if the run exists there already, or if its result is not what its
batches add up to.`,
		Example: "  gobench import before.tar.zst\n  gobench import before.tar.zst --master http://127.0.0.1:8080",
		Args:    exactArgs(1, "the file"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.importRun(cmd.Context(), at, args[0]) },
	}
	at.add(cmd, "`URL` of the master to add it to")
	return cmd
}

// importRun adds the run of the archive at path to this machine's history or, if at has a
// URL, to that master, and prints its id. On this machine the exit status is 2 for a
// missing file or one that is no archive, and 1 for a run that exists already. On an error
// nothing is added.
func (a *app) importRun(ctx context.Context, at masterFlags, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return usageError("", "%w", err)
	}
	defer f.Close()
	if at.url != "" {
		c, err := a.client(at)
		if err != nil {
			return err
		}
		defer c.Close()
		o, err := c.Import(ctx, f)
		if err != nil {
			return refusal(err)
		}
		fmt.Fprintln(a.stdout, o.ID)
		return nil
	}
	r, err := a.history().Import(f, history.Check)
	switch {
	case errors.Is(err, run.ErrArchive):
		return &exitError{exitUsage, fmt.Errorf("%s: %w", path, err), ""}
	case err != nil:
		return err
	}
	fmt.Fprintln(a.stdout, r.ID)
	return nil
}
