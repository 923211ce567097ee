package cli

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/api/client"
	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// agentsCommand returns gobench agents, with its subcommands join and revoke. It lists all
// agents that the master knows, in the master's order, or with --json one object a line.
func (a *app) agentsCommand() *cobra.Command {
	var asJSON bool
	cmd := a.onMaster(&cobra.Command{
		Use:     "agents",
		Short:   "List a master's agents and their states",
		Example: "  gobench agents\n  gobench agents join\n  gobench agents revoke web-2",
		Args:    cobra.NoArgs,
	}, func(ctx context.Context, c *client.Client, _ []string) error {
		all, err := c.Agents(ctx)
		if err != nil {
			return err
		}
		if asJSON {
			for _, w := range all {
				if err := a.encode(w); err != nil {
					return err
				}
			}
			return nil
		}
		if len(all) == 0 {
			fmt.Fprintln(a.stdout, "no agent has joined; make a token with: gobench agents join")
			return nil
		}
		return a.listAgents(all)
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	cmd.AddCommand(a.joinCommand(), a.revokeAgentCommand())
	return cmd
}

// listAgents prints a table of agents. "-" stands for figures that the master does not
// have, as of an agent that has not connected.
func (a *app) listAgents(all []types.Agent) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAME\tSTATE\tVERSION\tPLATFORM\tCPUS\tCPU\tMEMORY FREE\tNOTE")
	for _, x := range all {
		version, platform, cpus, cpu, memory := "-", "-", "-", "-", "-"
		if m := x.Machine; m != nil {
			version, platform, cpus = m.Version, m.OS+"/"+m.Arch, fmt.Sprint(m.CPUs)
		}
		if l := x.Load; l != nil {
			cpu, memory = fmt.Sprintf("%.0f %%", 100*l.CPU), units.Bytes(float64(l.Available))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", x.ID, units.Safe(x.Name), x.State, units.Safe(version), platform, cpus, cpu, memory, units.Safe(x.Why))
	}
	return w.Flush()
}

// joinCommand returns gobench agents join. It prints the token with the command to run on the
// new host, or with --quiet only the token. Validity is cut to whole minutes; below one it is
// a usage error.
func (a *app) joinCommand() *cobra.Command {
	life := 10 * time.Minute
	var quiet bool
	cmd := a.onMaster(&cobra.Command{
		Use:   "join",
		Short: "Make a token with which one agent joins",
		Long: `Make a token with which one agent joins. It is shown once, is valid for one agent, and
contains the master's addresses and the digest of its certificate.`,
		Example: "  gobench agents join\n  ssh web-2 gobench agent --join - < <(gobench agents join --quiet)",
		Args:    cobra.NoArgs,
	}, func(ctx context.Context, c *client.Client, _ []string) error {
		if life < time.Minute {
			return usageError("", "--for is %v: want a minute or more", life)
		}
		t, err := c.NewJoinToken(ctx, types.NewJoinToken{Minutes: int(life.Minutes())})
		if err != nil {
			return err
		}
		if quiet {
			fmt.Fprintln(a.stdout, t.Text)
			return nil
		}
		fmt.Fprintf(a.stdout, "Run this on the new host, by %s:\n  gobench agent --join %s\n", t.Expires.Local().Format(time.TimeOnly), t.Text)
		return nil
	})
	timeVar(cmd.Flags(), &life, "for", "", life, "how long it is valid")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print the token alone")
	return cmd
}

// revokeAgentCommand returns gobench agents revoke, which takes an id or a name. Names of
// agents that are revoked already do not count; a name of several others is a usage error,
// as is an unknown one.
func (a *app) revokeAgentCommand() *cobra.Command {
	return a.onMaster(&cobra.Command{
		Use:     "revoke AGENT",
		Short:   "Revoke an agent, and close its connection",
		Example: "  gobench agents revoke web-2",
		Args:    exactArgs(1, "the agent"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		all, err := c.Agents(ctx)
		if err != nil {
			return err
		}
		// A lost agent may be meant as well as a ready one.
		w, err := findAgent(all, args[0], map[string]int{"revoked": 0}, 1)
		if err != nil {
			return err
		}
		return c.RevokeAgent(ctx, w.ID)
	})
}

// findAgent returns the agent that word means, as run.FindAgent does with the ranks of the
// agents' states; other is that of the other states. An unknown word, and a name of several
// agents of the highest rank, are usage errors.
func findAgent(all []types.Agent, word string, ranks map[string]int, other int) (types.Agent, error) {
	w, err := run.FindAgent(all, word, func(w types.Agent) (string, string, int) {
		if rank, ok := ranks[w.State]; ok {
			return w.ID, w.Name, rank
		}
		return w.ID, w.Name, other
	})
	if err != nil {
		return w, usageError("gobench agents lists them", "%w", err)
	}
	return w, nil
}

// onMaster adds --master and --cacert to cmd, sets its RunE and returns it. RunE calls do
// with the arguments and a client of the master, which it closes after do; it passes do's
// error through refusal.
func (a *app) onMaster(cmd *cobra.Command, do func(ctx context.Context, c *client.Client, args []string) error) *cobra.Command {
	var at masterFlags
	at.add(cmd, ofMaster)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.client(at)
		if err != nil {
			return err
		}
		defer c.Close()
		return refusal(do(cmd.Context(), c, args))
	}
	return cmd
}
