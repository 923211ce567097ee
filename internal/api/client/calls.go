package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/run"
)

// Information returns what is public about the master. It returns an error, besides the
// answer, if the server is not a gobench master.
func (c *Client) Information(ctx context.Context) (types.Information, error) {
	i, err := ask[types.Information](ctx, c, request{method: "GET", path: "/info"})
	if err == nil && i.Product != "gobench" {
		err = fmt.Errorf("the server at %s is not a gobench master: check the address", c.URL())
	}
	return i, err
}

// Setup creates the first user with the token that the master printed, and starts a session
// as Login does.
func (c *Client) Setup(ctx context.Context, s types.Setup) (types.Me, error) {
	return ask[types.Me](ctx, c, request{method: "POST", path: "/setup", body: s})
}

// Login starts a session, which later calls use unless the client has a token. A wrong name
// or password is an Error with the code types.Unauthenticated.
func (c *Client) Login(ctx context.Context, name, password string) (types.Me, error) {
	return ask[types.Me](ctx, c, request{method: "POST", path: "/login", body: types.Login{Name: name, Password: password}})
}

// Logout ends the session.
func (c *Client) Logout(ctx context.Context) error {
	return c.do(ctx, request{method: "POST", path: "/logout"})
}

// Me returns the user that the client is logged in as.
func (c *Client) Me(ctx context.Context) (types.Me, error) {
	return ask[types.Me](ctx, c, request{method: "GET", path: "/me"})
}

// ChangePassword changes the user's own password and ends all other sessions.
func (c *Client) ChangePassword(ctx context.Context, p types.Password) error {
	_, err := ask[types.Me](ctx, c, request{method: "PUT", path: "/me/password", body: p})
	return err
}

// NewToken creates an API token of the user and returns it with its text, which cannot be
// read again. It needs a session; a token cannot do it.
func (c *Client) NewToken(ctx context.Context, t types.NewToken) (types.MadeToken, error) {
	return ask[types.MadeToken](ctx, c, request{method: "POST", path: "/tokens", body: t})
}

// Tokens returns the tokens of a user by id, of all with "all", or the user's own if user
// is empty.
func (c *Client) Tokens(ctx context.Context, user string) ([]auth.Token, error) {
	l, err := ask[types.List[auth.Token]](ctx, c, request{method: "GET", path: "/tokens", query: values("user", user)})
	return l.Items, err
}

// RevokeToken makes a token invalid.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	return c.do(ctx, request{method: "DELETE", path: "/tokens/" + url.PathEscape(id)})
}

// Users returns all users.
func (c *Client) Users(ctx context.Context) ([]auth.User, error) {
	l, err := ask[types.List[auth.User]](ctx, c, request{method: "GET", path: "/users"})
	return l.Items, err
}

// NewUser creates a user.
func (c *Client) NewUser(ctx context.Context, u types.NewUser) (auth.User, error) {
	return ask[auth.User](ctx, c, request{method: "POST", path: "/users", body: u})
}

// ChangeUser changes those fields of a user that are set in u, whatever its version is.
func (c *Client) ChangeUser(ctx context.Context, id string, u types.UserChange) (auth.User, error) {
	return ask[auth.User](ctx, c, request{method: "PATCH", path: "/users/" + url.PathEscape(id), body: u, header: http.Header{"If-Match": {"*"}}})
}

// Audit returns up to limit entries of the audit log before a number (0: the newest),
// newest first. limit is 1 to 200; 0 means 50.
func (c *Client) Audit(ctx context.Context, before int64, limit int) (types.Page[auth.Entry], error) {
	return ask[types.Page[auth.Entry]](ctx, c, request{method: "GET", path: "/audit", query: values("before", number(before), "limit", number(int64(limit)))})
}

// Applications returns a page of applications, without their sources.
func (c *Client) Applications(ctx context.Context, f run.Filter) (types.Page[run.Application], error) {
	return ask[types.Page[run.Application]](ctx, c, request{method: "GET", path: "/applications", query: filter(f)})
}

// Application returns an application with its source, without the data of private files,
// and the tag for ChangeApplication.
func (c *Client) Application(ctx context.Context, id string) (a run.Application, etag string, err error) {
	return askTag[run.Application](ctx, c, request{method: "GET", path: "/applications/" + url.PathEscape(id)})
}

// NewApplication creates an application.
func (c *Client) NewApplication(ctx context.Context, a types.NewApplication) (run.Application, error) {
	return ask[run.Application](ctx, c, request{method: "POST", path: "/applications", body: a, header: key()})
}

// ChangeApplication changes an application. It returns an Error with the code types.Stale if
// the application has changed since it was read with etag.
func (c *Client) ChangeApplication(ctx context.Context, id, etag string, a types.NewApplication) (run.Application, error) {
	return ask[run.Application](ctx, c, request{method: "PUT", path: "/applications/" + url.PathEscape(id), body: a, header: http.Header{"If-Match": {etag}}})
}

// DeleteApplication deletes an application.
func (c *Client) DeleteApplication(ctx context.Context, id string) error {
	return c.do(ctx, request{method: "DELETE", path: "/applications/" + url.PathEscape(id)})
}

// attempts is how often a submission without an answer is sent.
const attempts = 3

// Submit queues a run and returns it. If the connection breaks, it sends the request again,
// three times in all; the run is queued once.
func (c *Client) Submit(ctx context.Context, s types.Submission) (o run.Order, err error) {
	return c.queue(ctx, request{method: "POST", path: "/runs", body: s})
}

// Rerun queues a run with the source and the options of another one.
func (c *Client) Rerun(ctx context.Context, id string) (run.Order, error) {
	return c.queue(ctx, request{method: "POST", path: runPath(id, "/rerun")})
}

// queue sends a request that queues a run, with an idempotency key. It sends it again, after a
// pause, if no answer came or not a master's: attempts times in all. It returns an Error at
// once, and once ctx ends an error that wraps ctx's.
func (c *Client) queue(ctx context.Context, q request) (o run.Order, err error) {
	q.header = key()
	for n := range attempts {
		if n > 0 {
			if err := pause(ctx, c.wait<<n); err != nil {
				return o, err
			}
		}
		var refused *Error
		if o, err = ask[run.Order](ctx, c, q); err == nil || errors.As(err, &refused) || ctx.Err() != nil {
			break
		}
	}
	return o, err
}

// key makes an idempotency key.
func key() http.Header { return http.Header{"Idempotency-Key": {rand.Text()}} }

// Run returns a run.
func (c *Client) Run(ctx context.Context, id string) (run.Order, error) {
	return ask[run.Order](ctx, c, request{method: "GET", path: runPath(id, "")})
}

// Runs returns a page of runs, newest first.
func (c *Client) Runs(ctx context.Context, f run.Filter) (types.Page[run.Order], error) {
	return ask[types.Page[run.Order]](ctx, c, request{method: "GET", path: "/runs", query: filter(f)})
}

// AllRuns yields the runs of all pages, newest first. f.Limit is the length of a page; 0:
// the longest. An error is yielded last.
func (c *Client) AllRuns(ctx context.Context, f run.Filter) iter.Seq2[run.Order, error] {
	return func(yield func(run.Order, error) bool) {
		f.Limit = cmp.Or(f.Limit, 200)
		for {
			page, err := c.Runs(ctx, f)
			if err != nil {
				yield(run.Order{}, err)
				return
			}
			for _, o := range page.Items {
				if !yield(o, nil) {
					return
				}
			}
			if f.After = page.Next; f.After == "" {
				return
			}
		}
	}
}

// FindRun returns the id of the run that part names: "last" for the newest, or at least 3
// characters that an id begins with, or the part of an id after its last "-". A whole id is
// returned without asking the master. An unknown and an ambiguous part are a *run.UsageError.
func (c *Client) FindRun(ctx context.Context, part string) (string, error) {
	if run.ValidID(part) {
		return part, nil
	}
	var found []string
	for o, err := range c.AllRuns(ctx, run.Filter{}) {
		if err != nil {
			return "", err
		}
		if part == "last" {
			return o.ID, nil
		}
		if len(part) >= 3 && (strings.HasPrefix(o.ID, part) || strings.HasPrefix(o.ID[strings.LastIndexByte(o.ID, '-')+1:], part)) {
			found = append(found, o.ID)
		}
	}
	switch len(found) {
	case 0:
		return "", run.Usage("gobench runs --master "+c.URL()+" lists them", "the master has no run %q", part)
	case 1:
		return found[0], nil
	}
	return "", run.Usage("", "%q fits %d runs: %v", part, len(found), found)
}

// Transitions returns the states that a run has gone through, oldest first.
func (c *Client) Transitions(ctx context.Context, id string) ([]run.Transition, error) {
	l, err := ask[types.List[run.Transition]](ctx, c, request{method: "GET", path: runPath(id, "/transitions")})
	return l.Items, err
}

// Stop ends the load of a run and lets iterations under way finish. It returns before the
// run has ended.
func (c *Client) Stop(ctx context.Context, id string) error {
	return c.do(ctx, request{method: "POST", path: runPath(id, "/stop")})
}

// Cancel ends a run at once, in any state. It returns before the run has ended.
func (c *Client) Cancel(ctx context.Context, id string) error {
	return c.do(ctx, request{method: "POST", path: runPath(id, "/cancel")})
}

// Control changes a run's load.
func (c *Client) Control(ctx context.Context, id string, change types.Control) error {
	return c.do(ctx, request{method: "POST", path: runPath(id, "/control"), body: change})
}

// Delete deletes a run that has ended.
func (c *Client) Delete(ctx context.Context, id string) error {
	return c.do(ctx, request{method: "DELETE", path: runPath(id, "")})
}

// StopAll cancels the active run, and with queued all queued ones. It returns the ids of
// these runs, before they have ended.
func (c *Client) StopAll(ctx context.Context, queued bool) ([]string, error) {
	s, err := ask[types.Stopped](ctx, c, request{method: "POST", path: "/stop-all", body: types.StopAll{Queued: queued}})
	return s.Runs, err
}

// Agents returns the agents that have joined.
func (c *Client) Agents(ctx context.Context) ([]types.Agent, error) {
	l, err := ask[types.List[types.Agent]](ctx, c, request{method: "GET", path: "/agents"})
	return l.Items, err
}

// RevokeAgent refuses an agent from now on.
func (c *Client) RevokeAgent(ctx context.Context, id string) error {
	return c.do(ctx, request{method: "DELETE", path: "/agents/" + url.PathEscape(id)})
}

// NewJoinToken creates a token for one agent.
func (c *Client) NewJoinToken(ctx context.Context, t types.NewJoinToken) (types.MadeJoinToken, error) {
	return ask[types.MadeJoinToken](ctx, c, request{method: "POST", path: "/join-tokens", body: t})
}

// JoinTokens returns the join tokens, without their secrets.
func (c *Client) JoinTokens(ctx context.Context) ([]run.JoinToken, error) {
	l, err := ask[types.List[run.JoinToken]](ctx, c, request{method: "GET", path: "/join-tokens"})
	return l.Items, err
}

// Report opens a run's report in a format: "json", "csv", "xml", "md" or "html". The caller
// must close it.
func (c *Client) Report(ctx context.Context, id, format string) (io.ReadCloser, error) {
	return c.open(ctx, request{method: "GET", path: runPath(id, "/report"), query: values("format", format)})
}

// Profile takes a profile of an executor and opens it. It blocks for as long as the profile
// takes. The caller must close it.
func (c *Client) Profile(ctx context.Context, id string, p types.Profile) (io.ReadCloser, error) {
	return c.openLong(ctx, request{method: "POST", path: runPath(id, "/profile"), body: p})
}

// Export opens the archive of a run that has ended. The caller must close it.
func (c *Client) Export(ctx context.Context, id string) (io.ReadCloser, error) {
	return c.openLong(ctx, request{method: "GET", path: runPath(id, "/export")})
}

// Import stores the run of an archive, which it reads to its end unless the master refuses
// it, and returns the run. If archive is an io.Closer, it is closed. An archive of
// something else is an Error with the code types.BadArchive.
func (c *Client) Import(ctx context.Context, archive io.Reader) (o run.Order, err error) {
	in, err := c.openLong(ctx, request{method: "POST", path: "/runs/import", archive: archive, header: http.Header{"Content-Type": {"application/zstd"}}})
	if err != nil {
		return o, err
	}
	defer in.Close()
	err = json.NewDecoder(in).Decode(&o)
	return o, err
}

// openLong is open for answers that may take longer than the usual timeout to begin. It
// uses a connection of its own, which ends when the caller closes the body.
func (c *Client) openLong(ctx context.Context, q request) (io.ReadCloser, error) {
	long := *c
	t := c.http.Transport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = 0
	long.http = &http.Client{Transport: t, Jar: c.http.Jar, CheckRedirect: c.http.CheckRedirect}
	body, err := long.open(ctx, q)
	if err != nil {
		t.CloseIdleConnections()
		return nil, err
	}
	return &closing{body, t.CloseIdleConnections}, nil
}

// closing is a body that calls then when it is closed.
type closing struct {
	io.ReadCloser
	then func()
}

func (c *closing) Close() error {
	defer c.then()
	return c.ReadCloser.Close()
}

// open sends a request and returns the body of its answer, which the caller must close. Its
// errors are those of send.
func (c *Client) open(ctx context.Context, q request) (io.ReadCloser, error) {
	answer, err := c.send(ctx, q)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

func runPath(id, rest string) string { return "/runs/" + url.PathEscape(id) + rest }

// values returns a query of alternating names and values, without empty values. It panics if a
// value is missing.
func values(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	return v
}

// number returns n in decimal, or "" for 0.
func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func filter(f run.Filter) url.Values {
	return values("state", string(f.State), "application", f.Application, "tag", f.Tag, "owner", f.Owner, "text", f.Text, "after", f.After, "limit", number(int64(f.Limit)))
}

// pause waits for d and returns nil, or ctx's error once ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TokenName returns the name of a token for this host: "gobench on HOST", or "gobench" if
// the host has no name.
func TokenName() string {
	host, err := os.Hostname()
	if err != nil || strings.TrimSpace(host) == "" {
		return "gobench"
	}
	return "gobench on " + host
}
