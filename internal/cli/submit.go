package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/api/client"
	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/show/lines"
	"github.com/gobench-io/gobench/internal/show/report"
)

// submitCommand returns gobench submit, which queues a run (submit) or with --follow
// follows it to its end (runAt).
func (a *app) submitCommand() *cobra.Command {
	var load loadFlags
	var at clusterFlags
	var set []string
	var follow bool
	cmd := &cobra.Command{
		Use:   "submit FILE",
		Short: "Queue a scenario at a master",
		Long: `Queue a scenario at a master, and print the run's id.

FILE is a Go file with a function export() scenario.Vus, or a folder of such a
package. go.mod and go.sum beside it are sent along, and files that its string literals
name. With --follow it is as gobench run --master: the live view, the report, the exit
status.`,
		Example: `  gobench submit scenario.go
  gobench submit scenario.go --follow --duration 1m -o result.json
  id=$(gobench submit scenario.go --quiet)`,
		Args: exactArgs(1, "the scenario's file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := load.check(cmd); err != nil {
				return err
			}
			values, err := parseSet(set)
			if err != nil {
				return err
			}
			if follow {
				return a.runAt(cmd.Context(), at.master, args[0], values, load, at.options())
			}
			return a.submit(cmd, args[0], values, &load, &at)
		},
	}
	timeVar(cmd.Flags(), &load.duration, "duration", "d", 0, "end the run after this time, and keep it open until then (default: the scenario decides)")
	cmd.Flags().StringArrayVar(&set, "set", nil, "set a parameter of the scenario, as NAME=VALUE; may be repeated")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "show the run until it is over, and report")
	at.master.add(cmd, ofMaster)
	load.add(cmd, partOfLoad)
	at.add(cmd)
	return cmd
}

// submit queues a run of the scenario at path and prints it as queued does. It does not wait
// for the run. Flags of a run that is followed, or is on this machine, are usage errors. load
// must have been checked.
func (a *app) submit(cmd *cobra.Command, path string, set map[string]string, load *loadFlags, at *clusterFlags) error {
	if err := load.checkFollow(false); err != nil {
		return err
	}
	if err := load.inside.refuseRemote(); err != nil {
		return err
	}
	s, err := scenarioAt(path, set, load, at.options())
	if err != nil {
		return err
	}
	c, err := a.client(at.master)
	if err != nil {
		return err
	}
	defer c.Close()
	o, err := c.Submit(cmd.Context(), s)
	if err != nil {
		return refusal(err)
	}
	return a.queued(c, o, load)
}

// queued prints a run that is not followed: its order as JSON with --json, only its id
// with --quiet, or a line for people.
func (a *app) queued(c *client.Client, o run.Order, load *loadFlags) error {
	switch {
	case load.json:
		return a.encode(o)
	case load.quiet:
		fmt.Fprintln(a.stdout, o.ID)
	default:
		fmt.Fprintf(a.stdout, "run %s is queued at %s\n", o.ID, c.URL())
	}
	return nil
}

// encode writes what as a line of JSON to standard output. An error has exit status 1.
func (a *app) encode(what any) error {
	return json.NewEncoder(a.stdout).Encode(what)
}

// remoteID returns the id of a master's run that part names (client.FindRun). An unknown and
// an ambiguous part are usage errors.
func remoteID(ctx context.Context, c *client.Client, part string) (string, error) {
	id, err := c.FindRun(ctx, part)
	return id, refusal(err)
}

// onRun adds --master and --cacert to cmd, sets its RunE and, unless cmd has Args,
// requires one argument, and returns cmd. RunE calls do with a client of the master, which
// it closes after do, and the id of the run that the first argument names (remoteID),
// empty without an argument; it passes do's error through refusal.
func (a *app) onRun(cmd *cobra.Command, do func(ctx context.Context, c *client.Client, id string) error) *cobra.Command {
	var at masterFlags
	at.add(cmd, ofMaster)
	if cmd.Args == nil {
		cmd.Args = exactArgs(1, "the run")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.client(at)
		if err != nil {
			return err
		}
		defer c.Close()
		id := ""
		if len(args) > 0 {
			if id, err = remoteID(cmd.Context(), c, args[0]); err != nil {
				return err
			}
		}
		return refusal(do(cmd.Context(), c, id))
	}
	return cmd
}

// cancelCommand returns gobench cancel. It does not wait for the end of the run.
func (a *app) cancelCommand() *cobra.Command {
	return a.onRun(&cobra.Command{
		Use:     "cancel RUN",
		Short:   "End a run of a master at once, or take it out of the queue",
		Example: "  gobench cancel last\n  gobench cancel 20261121-101502-ab12cd",
	}, func(ctx context.Context, c *client.Client, id string) error {
		if err := c.Cancel(ctx, id); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "run %s is being cancelled\n", id)
		return nil
	})
}

// stopCommand returns gobench stop, of one run, or with --all of the active one. It does not
// wait for the end. Without --all, --queued is ignored.
func (a *app) stopCommand() *cobra.Command {
	var all, queued bool
	cmd := a.onRun(&cobra.Command{
		Use:   "stop [RUN]",
		Short: "End the load of a master's run and drain it; --all cancels the active run",
		Long: `End the load of a master's run: nothing new begins, what is in flight ends, and the
report is made. --all is for emergencies: it cancels the active run at once.`,
		Example: "  gobench stop last\n  gobench stop --all\n  gobench stop --all --queued",
		Args:    rangeArgs(0, 1, "the run"),
	}, func(ctx context.Context, c *client.Client, id string) error {
		switch {
		case all == (id != ""):
			return usageError("gobench stop RUN, or gobench stop --all", "name a run, or use --all")
		case all:
			ids, err := c.StopAll(ctx, queued)
			if err == nil && len(ids) == 0 {
				fmt.Fprintln(a.stdout, "no run is active")
			}
			for _, id := range ids {
				fmt.Fprintf(a.stdout, "run %s is being cancelled\n", id)
			}
			return err
		}
		if err := c.Stop(ctx, id); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "run %s is being stopped\n", id)
		return nil
	})
	cmd.Flags().BoolVar(&all, "all", false, "cancel the active run")
	cmd.Flags().BoolVar(&queued, "queued", false, "with --all: also cancel the queued runs")
	return cmd
}

// logsCommand returns gobench logs. --agent is an id or a name, as in findAgent: of agents of
// one name a revoked or lost one counts only if no other has it.
func (a *app) logsCommand() *cobra.Command {
	var agent string
	var follow bool
	cmd := a.onRun(&cobra.Command{
		Use:     "logs RUN",
		Short:   "Print what the executors of a master's run print",
		Example: "  gobench logs last -f\n  gobench logs last --agent web-2",
	}, func(ctx context.Context, c *client.Client, id string) error {
		if agent != "" {
			all, err := c.Agents(ctx)
			if err != nil {
				return err
			}
			w, err := findAgent(all, agent, map[string]int{"revoked": 1, "lost": 2}, 3) // a revoked one has logs, too
			if err != nil {
				return err
			}
			agent = w.ID
		}
		p := &lines.Printed{Show: func(b []byte) { _, _ = a.stdout.Write(b) }} // a closed terminal ends it below
		defer p.Flush()
		return c.Log(ctx, p, id, agent, follow)
	})
	cmd.Flags().StringVar(&agent, "agent", "", "only of this agent, by id or name")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "continue until the run is over")
	return cmd
}

// profileCommand returns gobench profile, which checks its arguments; profile runs it.
func (a *app) profileCommand() *cobra.Command {
	var agent, out string
	var kind string
	length := 30 * time.Second
	var at masterFlags
	cmd := &cobra.Command{
		Use:   "profile RUN KIND [TIME]",
		Short: "Take a profile of an executor of a master's active run",
		Long: `Take a profile of an executor of a master's active run, for go tool pprof (a trace: for
go tool trace). KIND is cpu, heap, mutex, block or trace.`,
		Example: "  gobench profile last cpu 30s --agent web-2\n  gobench profile last heap -o heap.pprof",
		Args:    rangeArgs(2, 3, "the run and a kind of profile"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if kind = args[1]; !slices.ContainsFunc(profileKinds[:], func(k struct{ kind, flag, what string }) bool { return k.kind == kind }) {
				return usageError("cpu, heap, mutex, block or trace", "there is no profile %q", kind)
			}
			if len(args) > 2 {
				d, err := time.ParseDuration(args[2])
				if err != nil || d <= 0 {
					return usageError("write it as 30s", "%q is no time", args[2])
				}
				length = d
			}
			return a.profile(cmd.Context(), at, args[0], out, types.Profile{Agent: agent, Kind: kind, Seconds: length.Seconds()})
		},
	}
	at.add(cmd, ofMaster)
	cmd.Flags().StringVar(&agent, "agent", "", "the agent, by id or name (default the first)")
	cmd.Flags().StringVarP(&out, "output", "o", "", "`FILE` that it is written to (default RUN-KIND.pprof)")
	_ = cmd.MarkFlagFilename("output")
	return cmd
}

// profile takes the profile p of a run of a master, waits for it, writes it to the file out
// and prints the path; an empty out stands for RUN-KIND.pprof or RUN.trace in the working
// directory. On an error an existing regular file is as before.
func (a *app) profile(ctx context.Context, at masterFlags, part, out string, p types.Profile) error {
	c, err := a.client(at)
	if err != nil {
		return err
	}
	defer c.Close()
	id, err := remoteID(ctx, c, part)
	if err != nil {
		return err
	}
	if out == "" {
		out = id + "-" + p.Kind + ".pprof"
		if p.Kind == "trace" {
			out = id + ".trace"
		}
	}
	in, err := c.Profile(ctx, id, p)
	if err != nil {
		return refusal(err)
	}
	defer in.Close()
	err = report.WriteFile(out, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
	if err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	fmt.Fprintf(a.stdout, "%s\n", out)
	return nil
}
