package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/api"
	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/api/client"
	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/master/store"
	"github.com/gobench-io/gobench/internal/run/units"
	"github.com/gobench-io/gobench/internal/server"
)

// tokensCommand returns gobench tokens, with its subcommands new and revoke. It lists the
// user's own tokens, also those that are revoked or have expired.
func (a *app) tokensCommand() *cobra.Command {
	cmd := a.onMaster(&cobra.Command{
		Use:     "tokens",
		Short:   "List your API tokens at a master",
		Example: "  gobench tokens\n  gobench tokens new ci --role tester --days 30\n  gobench tokens revoke ID",
		Args:    cobra.NoArgs,
	}, func(ctx context.Context, c *client.Client, _ []string) error {
		all, err := c.Tokens(ctx, "")
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tNAME\tROLE\tCREATED\tEXPIRES\tLAST USED\tNOTE")
		for _, t := range all {
			note := ""
			if !t.Revoked.IsZero() {
				note = "revoked"
			} else if time.Now().After(t.Expires) {
				note = "expired"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, units.Safe(t.Name), t.Role, day(t.Created), day(t.Expires), day(t.Used), note)
		}
		return w.Flush()
	})
	cmd.AddCommand(a.newTokenCommand(), a.revokeTokenCommand())
	return cmd
}

// day returns the local date of t, as 2026-11-22; "-" for the zero time.
func day(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateOnly)
}

// newTokenCommand returns gobench tokens new. It always logs in by name and password, in a
// session of its own, which it ends once the token is made, and prints only the token's text.
func (a *app) newTokenCommand() *cobra.Command {
	var role string
	var days int
	var f loginFlags
	cmd := a.onMaster(&cobra.Command{
		Use:   "new NAME",
		Short: "Make an API token for a program; it asks for your password",
		Long: `Make an API token for a program, and print it: it is shown only once. A token can't make
further tokens, so this command asks for name and password.`,
		Example: "  gobench tokens new ci --role tester --days 30",
		Args:    exactArgs(1, "what it is for"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		own, err := c.Anonymous()
		if err != nil {
			return err
		}
		defer own.Close()
		if login, err := a.saved(); err == nil && login != nil && f.name == "" && login.URL == c.URL() {
			f.name = login.User
		}
		if _, err := a.session(ctx, own, &f, ""); err != nil {
			return err
		}
		t, err := own.NewToken(ctx, types.NewToken{Name: args[0], Role: auth.Role(role), Days: days})
		if err != nil {
			return err
		}
		_ = own.Logout(ctx) // the session ends by itself
		fmt.Fprintln(a.stdout, t.Text)
		return nil
	})
	fs := cmd.Flags()
	fs.StringVar(&role, "role", "", "viewer, tester, operator or admin, not above your own (default your own)")
	fs.IntVar(&days, "days", 90, "days until it expires")
	fs.StringVar(&f.name, "name", "", "your name there (default that of the login)")
	fs.StringVar(&f.file, "password-file", "", "`FILE` with your password (default asked for, or GOBENCH_PASSWORD)")
	_ = cmd.MarkFlagFilename("password-file")
	return cmd
}

// revokeTokenCommand returns gobench tokens revoke, which takes the id of a token, not its
// name.
func (a *app) revokeTokenCommand() *cobra.Command {
	return a.onMaster(&cobra.Command{
		Use:     "revoke ID",
		Short:   "Revoke an API token",
		Example: "  gobench tokens revoke t4k2m",
		Args:    exactArgs(1, "the token's id"),
	}, func(ctx context.Context, c *client.Client, args []string) error { return c.RevokeToken(ctx, args[0]) })
}

// usersCommand returns gobench users, with its subcommands new and change. It lists
// disabled users too.
func (a *app) usersCommand() *cobra.Command {
	cmd := a.onMaster(&cobra.Command{
		Use:     "users",
		Short:   "List the users of a master",
		Example: "  gobench users\n  gobench users new ada --role tester\n  gobench users change ada --disable",
		Args:    cobra.NoArgs,
	}, func(ctx context.Context, c *client.Client, _ []string) error {
		all, err := c.Users(ctx)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tROLE\tSINCE\tNOTE")
		for _, u := range all {
			note := ""
			if u.Disabled {
				note = "disabled"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", units.Safe(u.Name), u.Role, day(u.Created), note)
		}
		return w.Flush()
	})
	cmd.AddCommand(a.newUserCommand(), a.changeUserCommand())
	return cmd
}

// newUserCommand returns gobench users new. It prints nothing if the user was made.
func (a *app) newUserCommand() *cobra.Command {
	var role, file string
	cmd := a.onMaster(&cobra.Command{
		Use:     "new NAME",
		Short:   "Make a user",
		Example: "  gobench users new ada --role tester",
		Args:    exactArgs(1, "the user's name"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		password, err := a.password(file, "password of "+args[0]+": ")
		if err != nil {
			return err
		}
		_, err = c.NewUser(ctx, types.NewUser{Name: args[0], Role: auth.Role(role), Password: password})
		return err
	})
	cmd.Flags().StringVar(&role, "role", string(auth.Tester), "viewer (reads), tester (runs), operator (ends any run, manages agents) or admin (manages users)")
	cmd.Flags().StringVar(&file, "password-file", "", "`FILE` with the password (default asked for, or GOBENCH_PASSWORD)")
	_ = cmd.MarkFlagFilename("password-file")
	return cmd
}

// changeUserCommand returns gobench users change, which takes the user's name. An unknown name
// is a usage error, after a new password was asked for, as is a call without flags.
func (a *app) changeUserCommand() *cobra.Command {
	var role, file string
	var disable, enable, password bool
	cmd := a.onMaster(&cobra.Command{
		Use:     "change NAME",
		Short:   "Change a user's role or password, or disable the user",
		Example: "  gobench users change ada --role operator\n  gobench users change ada --disable\n  gobench users change ada --password",
		Args:    exactArgs(1, "the user's name"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		if role == "" && !disable && !enable && !password && file == "" {
			return usageError("gobench users change "+args[0]+" --role operator", "name what to change: --role, --password, --disable or --enable")
		}
		all, err := c.Users(ctx)
		if err != nil {
			return err
		}
		var change types.UserChange
		if role != "" {
			r := auth.Role(role)
			change.Role = &r
		}
		if disable || enable {
			change.Disabled = &disable
		}
		if password || file != "" {
			p, err := a.password(file, "new password of "+args[0]+": ")
			if err != nil {
				return err
			}
			change.Password = &p
		}
		for _, u := range all {
			if u.Name == args[0] {
				_, err := c.ChangeUser(ctx, u.ID, change)
				return err
			}
		}
		return usageError("gobench users lists them", "no user is called %q", args[0])
	})
	cmd.Flags().StringVar(&role, "role", "", "viewer, tester, operator or admin")
	cmd.Flags().BoolVar(&disable, "disable", false, "disable the user at once")
	cmd.Flags().BoolVar(&enable, "enable", false, "enable the user again")
	cmd.Flags().BoolVar(&password, "password", false, "ask for a new password")
	cmd.Flags().StringVar(&file, "password-file", "", "`FILE` with a new password")
	cmd.MarkFlagsMutuallyExclusive("disable", "enable")
	_ = cmd.MarkFlagFilename("password-file")
	return cmd
}

// openAPICommand returns gobench openapi, which prints the document that this program
// contains; it needs no master.
func (a *app) openAPICommand() *cobra.Command {
	return &cobra.Command{
		Use:     "openapi",
		Short:   "Print the description of the master's API (OpenAPI 3.1)",
		Example: "  gobench openapi > openapi.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := a.stdout.Write(api.Document())
			return err
		},
	}
}

// backupCommand returns gobench backup, for the SQLite file in --dir only; see
// store.BackupFile.
func (a *app) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a copy of the database of this machine's master, also while it runs",
		Long: `Write a consistent copy of the database of the master whose data is in --dir; the master
may run meanwhile. To restore the copy, put it in the place of master/gobench.db while no
master runs, and delete gobench.db-wal and gobench.db-shm, which a killed master leaves.`,
		Example: "  gobench backup /backups/gobench-$(date +%F).db",
		Args:    exactArgs(1, "the file to write"),
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := filepath.Abs(args[0])
			if err == nil {
				err = store.BackupFile(cmd.Context(), server.Database(a.dataDir()), to)
			}
			return err
		},
	}
}
