package cli

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/run"
)

// clusterFlags are the flags of how a master runs a scenario or a built-in load.
type clusterFlags struct {
	master  masterFlags
	agents  []string
	weights []string
	split   string
	lost    string
	limit   time.Duration

	errorRate float64
	p99       time.Duration
	maxRate   float64
}

// clusterNames are the flags that need a master.
var clusterNames = []string{"agent", "weight", "split", "on-lost", "limit", "guard-errors", "guard-p99", "guard-rate"}

// add adds the flags to cmd, without --master, which f.master.add or addAs adds.
func (f *clusterFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringSliceVar(&f.agents, "agent", nil, "run on this agent, by id or name; may be repeated (default all that are ready)")
	fs.StringSliceVar(&f.weights, "weight", nil, "weight of an agent when the load is split, as `NAME=2`; may be repeated (default 1)")
	fs.StringVar(&f.split, "split", "even", "shares of agents: even, or proportional to their cpus, memory, or link (the network device with which they reach the master)")
	fs.StringVar(&f.lost, "on-lost", "continue", "when an agent is lost: continue, stop, or rebalance (the others take over)")
	timeVar(fs, &f.limit, "limit", "", 0, "end the run after this time in any case (default the master's --run-limit)")
	fs.Lookup("limit").DefValue = ""
	fs.Float64Var(&f.errorRate, "guard-errors", 0, "end the run when more than this share of operations fails, as 0.5")
	timeVar(fs, &f.p99, "guard-p99", "", 0, "end the run when the p99 of a client is above this")
	fs.Lookup("guard-p99").DefValue = ""
	fs.Float64Var(&f.maxRate, "guard-rate", 0, "end the run when more operations a second are done")
	_ = cmd.RegisterFlagCompletionFunc("split", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var all []string
		for _, s := range run.Splits {
			all = append(all, string(s))
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	})
	_ = cmd.RegisterFlagCompletionFunc("on-lost", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"continue", "stop", "rebalance"}, cobra.ShellCompDirectiveNoFileComp
	})
}

// refuseLocal returns a usage error that names the first flag that is set and needs a
// master, the flag of the master's certificates included; nil if no such flag is set.
func (f *clusterFlags) refuseLocal(cmd *cobra.Command) error {
	for _, name := range append(clusterNames, f.master.caFlag) {
		if cmd.Flags().Changed(name) {
			return usageError("add --master URL", "--%s is of a run on a master's agents", name)
		}
	}
	return nil
}

// options returns the options of the run that these flags set, times in seconds; those of
// other flags are zero. The master validates them: a weight that is no number becomes -1,
// which it refuses. The last weight of a name counts.
func (f *clusterFlags) options() run.Options {
	o := run.Options{Agents: f.agents, Lost: run.LostPolicy(f.lost), Limit: f.limit.Seconds(),
		Guards: run.Guards{ErrorRate: f.errorRate, P99: f.p99.Seconds(), Rate: f.maxRate}}
	if f.split != string(run.SplitEven) {
		o.Split = run.Split(f.split)
	}
	for _, w := range f.weights {
		name, n, _ := strings.Cut(w, "=")
		weight, err := strconv.Atoi(n)
		if err != nil {
			weight = -1 // the master refuses it, with the name
		}
		if o.Weights == nil {
			o.Weights = map[string]int{}
		}
		o.Weights[name] = weight
	}
	return o
}
