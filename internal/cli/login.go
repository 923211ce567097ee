package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/gobench-io/gobench/internal/api/client"
	"github.com/gobench-io/gobench/internal/api/types"
)

// loginFlags are the flags of gobench login, of which gobench tokens new has name and
// file.
type loginFlags struct {
	name  string
	file  string // of the password
	token string
	at    masterFlags // URL of the command's argument
}

// loginCommand returns gobench login; login runs it.
func (a *app) loginCommand() *cobra.Command {
	var f loginFlags
	cmd := &cobra.Command{
		Use:   "login [URL]",
		Short: "Log in at a master",
		Long: `Log in at a master (default ` + defaultMaster + `).

It asks for name and password, makes an API token for this machine and stores that in
--dir, readable by you alone. The link that a new master prints makes its first user.
GOBENCH_MASTER and GOBENCH_TOKEN can be set instead of a login.`,
		Example: `  gobench login
  gobench login https://gobench.example.com:8443 --name ada
  gobench login 'http://127.0.0.1:8080/#setup=TOKEN' --name ada
  gobench login http://10.0.0.1:8080 --token gbt_...`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.at.url = args[0]
			}
			return a.login(cmd.Context(), &f)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.name, "name", "", "your name there (default asked for)")
	fs.StringVar(&f.file, "password-file", "", "`FILE` with the password (default asked for, or GOBENCH_PASSWORD)")
	fs.StringVar(&f.token, "token", "", "use this API token instead of a name and a password; - reads it from standard input")
	_ = cmd.MarkFlagFilename("password-file")
	f.at.addCA(cmd, "cacert")
	return cmd
}

// login logs in at the master of f.at.url, which may be its setup link, by name and
// password or with --token, and stores an API token in --dir in place of an earlier login.
// An empty URL stands for GOBENCH_MASTER, the stored login's or defaultMaster. On an error
// the stored login is as before; a token that was made may remain at the master. It may
// ask on the terminal.
func (a *app) login(ctx context.Context, f *loginFlags) error {
	at, setup, err := setupOf(f.at.url)
	if err != nil {
		return err
	}
	ca, err := f.at.authorities()
	if err != nil {
		return err
	}
	login, err := a.saved()
	if err != nil && at == "" { // else a login that can't be read is replaced
		return err
	}
	if at == "" {
		at = cmp.Or(os.Getenv(masterEnv), login.URLOr(defaultMaster))
	}
	if at, err = client.Address(at); err != nil {
		return usageError("", "%w", err)
	}
	if login != nil && login.URL == at {
		ca = cmp.Or(ca, login.CA)
	}
	if f.token != "" {
		return a.loginByToken(ctx, at, f.token, ca)
	}
	c, err := connectTo(at, "", ca)
	if err != nil {
		return err
	}
	defer c.Close()
	me, err := a.session(ctx, c, f, setup)
	if err != nil {
		return err
	}
	made, err := c.NewToken(ctx, types.NewToken{Name: client.TokenName()})
	if err != nil {
		return refusal(err)
	}
	if err := a.save(&client.Saved{URL: c.URL(), Token: made.Text, ID: made.ID, User: me.User.Name, CA: ca}); err != nil {
		return err
	}
	_ = c.Logout(ctx) // the token is enough
	fmt.Fprintf(a.stdout, "logged in at %s as %s (%s), until %s\n", c.URL(), me.User.Name, me.User.Role, made.Expires.Local().Format("2006-01-02"))
	return nil
}

// setupOf splits the link that a new master prints, URL#setup=TOKEN, into its URL and its
// token. An address without # is returned without a final slash, and the token is empty.
// Any other fragment is a usage error.
func setupOf(at string) (master, token string, err error) {
	link, fragment, ok := strings.Cut(at, "#")
	if !ok {
		return strings.TrimSuffix(at, "/"), "", nil
	}
	values, err := url.ParseQuery(fragment)
	if err != nil || values.Get("setup") == "" {
		return "", "", usageError("quote it for the shell", "%q is not the link that a new master prints", at)
	}
	return strings.TrimSuffix(link, "/"), values.Get("setup"), nil
}

// session logs c in by name and password, which it may ask for; with a setup token it
// makes the first user by that name and password, who is then logged in. It returns the
// user. The session remains until c.Logout. Errors are of prompt, password and refusal,
// without a hint to log in if the password is wrong.
func (a *app) session(ctx context.Context, c *client.Client, f *loginFlags, setup string) (types.Me, error) {
	who := "name: "
	if setup != "" {
		who = "name of the first user, an admin: "
	}
	name, err := a.prompt(f.name, who)
	if err != nil {
		return types.Me{}, err
	}
	password, err := a.password(f.file, "password: ")
	if err != nil {
		return types.Me{}, err
	}
	if setup != "" {
		me, err := c.Setup(ctx, types.Setup{Token: setup, Name: name, Password: password})
		return me, refusal(err)
	}
	me, err := c.Login(ctx, name, password)
	if client.IsCode(err, types.Unauthenticated) {
		return me, &exitError{exitFailed, err, ""} // without the hint to log in
	}
	return me, refusal(err)
}

// loginByToken checks the API token ("-": from standard input) at the master and stores
// it. On an error the stored login is as before.
func (a *app) loginByToken(ctx context.Context, at, token, ca string) error {
	token, err := readToken(token)
	if err != nil {
		return err
	}
	c, err := connectTo(at, token, ca)
	if err != nil {
		return err
	}
	defer c.Close()
	me, err := c.Me(ctx)
	if err != nil {
		return refusal(err)
	}
	if err := a.save(&client.Saved{URL: c.URL(), Token: token, User: me.User.Name, CA: ca}); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "logged in at %s as %s (%s)\n", c.URL(), me.User.Name, me.Role)
	return nil
}

// prompt returns value or, if that is empty, a line that it asks for on the terminal,
// without white space around it, which may be empty. Without a terminal it returns a usage
// error for --name.
func (a *app) prompt(value, what string) (string, error) {
	if value != "" {
		return value, nil
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return "", usageError("", "--name is missing, and there is no terminal to ask on")
	}
	fmt.Fprint(a.stderr, what)
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("read a name: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// password returns the first of these: the contents of file without line ends at its end,
// GOBENCH_PASSWORD, or what the user types on the terminal after what, where it is not
// shown. A file that can't be read, and no terminal, are usage errors; an empty line, Ctrl-D
// and Ctrl-C are an error with exit status 1.
func (a *app) password(file, what string) (string, error) {
	if file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return "", usageError("", "--password-file: %w", err)
		}
		return strings.TrimRight(string(b), "\r\n"), nil
	}
	if p := os.Getenv("GOBENCH_PASSWORD"); p != "" {
		return p, nil
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return "", usageError("use --password-file FILE or GOBENCH_PASSWORD", "there is no terminal to ask for the password on")
	}
	fd := int(os.Stdin.Fd())
	before, err := term.MakeRaw(fd) // Ctrl-C is then a key, and can't leave the terminal without echo
	if err != nil {
		return "", fmt.Errorf("ask for the password: %w", err)
	}
	p, err := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{os.Stdin, a.stderr}, "").ReadPassword(what)
	if err != nil {
		fmt.Fprint(a.stderr, "\r\n")
	}
	_ = term.Restore(fd, before) // it was that before
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return "", fmt.Errorf("read the password: %w", err)
	case p == "":
		return "", errors.New("no password was typed")
	}
	return p, nil
}

// logoutCommand returns gobench logout, which does nothing without a login. It deletes the
// login also if its token can't be revoked, and then prints a warning. A token that was
// stored by --token is not revoked.
func (a *app) logoutCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "logout",
		Short:   "Delete the login, and revoke its token",
		Example: "  gobench logout",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			login, err := a.saved()
			if err != nil || login == nil {
				return err
			}
			if login.ID != "" {
				c, err := connectTo(login.URL, login.Token, login.CA)
				if err == nil {
					defer c.Close()
					err = c.RevokeToken(cmd.Context(), login.ID)
				}
				if err != nil {
					fmt.Fprintf(a.stderr, "gobench: the token could not be revoked, it expires by itself: %v\n", err)
				}
			}
			return os.Remove(a.loginFile())
		},
	}
}
