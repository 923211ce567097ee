package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/api/client"
	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/local"
	"github.com/gobench-io/gobench/internal/measure/event"
)

// ctlCommand returns gobench ctl, which checks its flags and calls change, or with
// --master changeAt.
func (a *app) ctlCommand() *cobra.Command {
	var c event.Change
	var rate float64
	var users int64
	var at masterFlags
	cmd := &cobra.Command{
		Use:   "ctl ID pause|resume|scale|stop|cancel",
		Short: "Change an active run",
		Long: `Change a run that is active in another terminal. ID is as in gobench show.

pause holds all iterations until resume; scale sets the rate of an open load or the
number of active users; stop ends the load and lets what is in flight finish, as
Ctrl-C does; cancel ends it at once. The result has each change with its time.
With --master it is a run of that master.`,
		Example: "  gobench ctl last pause\n  gobench ctl last scale --rate 500\n  gobench ctl x7k2 scale --class buyer --users 20\n  gobench ctl last stop\n  gobench ctl last scale --rate 500 --master http://127.0.0.1:8080",
		Args:    exactArgs(2, "the run's id and what to do"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, s string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return []string{"pause", "resume", "scale", "stop", "cancel"}, cobra.ShellCompDirectiveNoFileComp
			}
			return a.completeIDs(cmd, args, s)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c.What = args[1]
			given := cmd.Flags().Changed
			switch c.What {
			case "pause", "resume", "stop", "cancel":
				if given("rate") || given("users") || given("class") {
					return usageError("", "--rate, --users and --class are only for scale")
				}
			case "scale":
				if !given("rate") && !given("users") {
					return usageError("gobench ctl last scale --rate 500", "name what to scale: --rate or --users")
				}
				if given("rate") && given("users") {
					return usageError("scale twice, once with each", "--rate and --users exclude each other")
				}
				if given("rate") && !(rate >= 0) || given("users") && users < 0 {
					return usageError("", "--rate %v, --users %d: want 0 or more", rate, users)
				}
				if given("rate") {
					c.Rate = &rate
				}
				if given("users") {
					c.Users = &users
				}
			default:
				return usageError("pause, resume, scale, stop or cancel", "gobench ctl can't %q", c.What)
			}
			if at.url != "" {
				return a.changeAt(cmd.Context(), at, args[0], c)
			}
			return a.change(args[0], c)
		},
	}
	cmd.Flags().Float64Var(&rate, "rate", -1, "scale: starts a second of an open load")
	cmd.Flags().Int64Var(&users, "users", -1, "scale: active users")
	cmd.Flags().StringVar(&c.Class, "class", "", "scale: the class, if there are several")
	at.add(cmd, "`URL` of the master whose run it is")
	return cmd
}

// change applies c to an active run of this machine, waits until that is done, and prints
// it. part is the run's id or a part of it, as for find. If no load is running, or it does
// not allow the change, the exit status is 1.
func (a *app) change(part string, c event.Change) error {
	id, err := a.find(part)
	if err != nil {
		return err
	}
	if err := local.Send(a.history(), id, c); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "run %s: %s\n", id, c.What)
	return nil
}

// changeAt applies change to a run of a master and prints it, when the master has accepted
// it. part is as for remoteID. A change that the load does not allow has exit status 1, as
// with change.
func (a *app) changeAt(ctx context.Context, at masterFlags, part string, change event.Change) error {
	c, err := a.client(at)
	if err != nil {
		return err
	}
	defer c.Close()
	id, err := remoteID(ctx, c, part)
	if err != nil {
		return err
	}
	switch change.What {
	case "stop":
		err = c.Stop(ctx, id)
	case "cancel":
		err = c.Cancel(ctx, id)
	default:
		err = c.Control(ctx, id, types.Control{What: change.What, Class: change.Class, Users: change.Users, Rate: change.Rate})
	}
	if client.IsCode(err, types.Invalid) {
		return err // as a run of this machine answers
	}
	if err != nil {
		return refusal(err)
	}
	fmt.Fprintf(a.stdout, "run %s: %s\n", id, change.What)
	return nil
}
