package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/api/client"
	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/show/report"
)

// client makes a client with a role's token, or without one.
func (r *rig) client(role auth.Role) *client.Client {
	r.t.Helper()
	c, err := client.New(r.addr, client.Options{Token: r.tokens[role], Wait: time.Millisecond})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.Close)
	return c
}

// must returns v, or ends the test.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// TestClientDoesAll walks what the command line does, as one user after the other.
func TestClientDoesAll(t *testing.T) {
	r := serve(t, Options{})
	ctx := t.Context()
	token := must(r.api.Setup(ctx))(t)
	c := r.client("")
	if i := must(c.Information(ctx))(t); !i.Setup {
		t.Errorf("information %+v", i)
	}
	me := must(c.Setup(ctx, types.Setup{Token: token, Name: "root", Password: password}))(t)
	if me.Role != auth.Admin || must(c.Me(ctx))(t).User.Name != "root" {
		t.Errorf("me %+v", me)
	}
	ann := must(c.NewUser(ctx, types.NewUser{Name: "ann", Role: auth.Tester, Password: password}))(t)
	operator := auth.Operator
	if u := must(c.ChangeUser(ctx, ann.ID, types.UserChange{Role: &operator}))(t); u.Role != operator || len(must(c.Users(ctx))(t)) != 2 {
		t.Errorf("changed %+v", u)
	}
	if err := c.Logout(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Me(ctx); !client.IsCode(err, types.Unauthenticated) {
		t.Errorf("after logout: %v", err)
	}
	if _, err := c.Login(ctx, "ann", "wrong"); !client.IsCode(err, types.Unauthenticated) {
		t.Errorf("wrong password: %v", err)
	}
	must(c.Login(ctx, "ann", password))(t)
	if err := c.ChangePassword(ctx, types.Password{Old: password, New: "another long one"}); err != nil {
		t.Error(err)
	}
	made := must(c.NewToken(ctx, types.NewToken{Name: client.TokenName()}))(t)
	if got := must(c.Tokens(ctx, ""))(t); len(got) != 1 || got[0].ID != made.ID {
		t.Errorf("tokens %+v", got)
	}
	r.tokens["ann"] = made.Text
	c = r.client("ann")

	app := must(c.NewApplication(ctx, types.NewApplication{Name: "home", Tags: []string{"a", "a"}, Scenario: scenario, Files: []run.File{{Path: "data/empty.csv"}, {Path: "b.csv", Data: []byte{0, 255}}}}))(t)
	got, tag, err := c.Application(ctx, app.ID)
	if err != nil || got.Source.Scenario != scenario || !bytes.Equal(got.Source.Files[1].Data, []byte{0, 255}) || !slices.Equal(got.Tags, []string{"a"}) || got.Owner != "ann" {
		t.Errorf("application %+v, %v", got, err)
	}
	private := must(c.NewApplication(ctx, types.NewApplication{Name: "private", Scenario: scenario, Files: []run.File{{Path: "options.json", Data: []byte("s3cret"), Private: true}, {Path: "b.csv", Data: []byte("shown")}}}))(t)
	read, _, err := c.Application(ctx, private.ID)
	for _, told := range []run.Application{private, read} {
		if f := told.Source.Files; err != nil || len(f) != 2 || len(f[0].Data) > 0 || !f[0].Private || string(f[1].Data) != "shown" {
			t.Errorf("an application with a private file is told as %+v, %v", told, err)
		}
	}
	if kept, err := r.master.Application(ctx, private.ID); err != nil || string(kept.Source.Files[0].Data) != "s3cret" {
		t.Errorf("the master has %+v, %v", kept, err)
	}
	must(c.ChangeApplication(ctx, app.ID, tag, types.NewApplication{Name: "away", Scenario: scenario}))(t)
	if _, err := c.ChangeApplication(ctx, app.ID, tag, types.NewApplication{Name: "away", Scenario: scenario}); !client.IsCode(err, types.Stale) {
		t.Errorf("stale: %v", err)
	}
	if page := must(c.Applications(ctx, run.Filter{Text: "awa"}))(t); len(page.Items) != 1 || page.Items[0].Source.Scenario != "" {
		t.Errorf("page %+v", page)
	}

	options := run.Options{Duration: 3, Seed: 1 << 63, Weights: map[string]int{"host1": 2}, Guards: run.Guards{Targets: []string{"10.0.0.0/8"}}}
	o := must(c.Submit(ctx, types.Submission{Application: app.ID, Options: options}))(t)
	if o.Owner != "ann" || o.Options.Seed != 1<<63 || o.Options.Weights["host1"] != 2 || must(c.Run(ctx, o.ID))(t).State != run.Queued {
		t.Errorf("order %+v", o)
	}
	again := must(c.Rerun(ctx, o.ID))(t)
	if again.ID == o.ID || again.Options.Seed != 1<<63 {
		t.Errorf("again %+v", again)
	}
	if page := must(c.Runs(ctx, run.Filter{State: run.Queued, Owner: "ann", Limit: 1}))(t); len(page.Items) != 1 || page.Next == "" {
		t.Errorf("runs %+v", page)
	}
	var ids []string // of pages of one run
	for o, err := range c.AllRuns(ctx, run.Filter{Owner: "ann", Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, o.ID)
	}
	if !slices.Equal(ids, []string{again.ID, o.ID}) {
		t.Errorf("all runs %v, want %v", ids, []string{again.ID, o.ID})
	}
	if err := c.Cancel(ctx, again.ID); err != nil {
		t.Error(err)
	}
	if err := c.Cancel(ctx, again.ID); !client.IsCode(err, types.Conflict) {
		t.Errorf("of a final one: %v", err)
	}
	if all := must(c.Transitions(ctx, again.ID))(t); len(all) != 2 || all[1].To != run.Cancelled || all[1].By != "ann" {
		t.Errorf("transitions %+v", all)
	}
	if err := c.Delete(ctx, again.ID); err != nil {
		t.Error(err)
	}
	id := r.runningAs(o.ID)
	users := int64(7)
	if err := c.Control(ctx, id, types.Control{What: "scale", Users: &users}); err != nil || *r.master.controls[0].Users != 7 || r.master.controls[0].By != "ann" {
		t.Errorf("control: %v, %+v", err, r.master.controls)
	}
	var wrong *client.Error
	if err := c.Control(ctx, id, types.Control{What: "scale"}); !errors.As(err, &wrong) || wrong.Status != 422 || len(wrong.Errors) != 1 {
		t.Errorf("control without figures: %v", err)
	}
	if p := must(c.Profile(ctx, id, types.Profile{Kind: "cpu", Agent: "host1", Seconds: 2}))(t); must(io.ReadAll(p))(t) == nil || p.Close() != nil {
		t.Error("no profile")
	}
	if err := c.Stop(ctx, id); err != nil {
		t.Error(err)
	}
	if ids := must(c.StopAll(ctx, true))(t); !slices.Equal(ids, []string{id}) {
		t.Errorf("stopped %v", ids)
	}
	if res := must(c.Result(ctx, id))(t); res.ID != id || res.State != run.Cancelled {
		t.Errorf("result %+v", res)
	}

	r.master.agents = []Agent{oneAgent}
	if agents := must(c.Agents(ctx))(t); len(agents) != 1 || agents[0].Machine.OS != "linux" || agents[0].Load.Load1 != 0.5 || agents[0].Executors[0].PID != 7 || agents[0].Offset != 0.001 {
		t.Errorf("agents %+v", agents)
	}
	if err := errors.Join(c.RevokeAgent(ctx, "agent1"), c.RevokeToken(ctx, "x")); !client.IsCode(err, types.NotFound) {
		t.Errorf("revoke: %v", err)
	}
	join := must(c.NewJoinToken(ctx, types.NewJoinToken{}))(t)
	if join.Text != "join-text" || join.Expires.Sub(join.Created) != joinLife || len(must(c.JoinTokens(ctx))(t)) != 1 {
		t.Errorf("join token %+v", join)
	}
	if err := c.DeleteApplication(ctx, app.ID); err != nil {
		t.Error(err)
	}
	if _, err := c.Rerun(ctx, id); !client.IsCode(err, types.Conflict) {
		t.Errorf("rerun without its source: %v", err)
	}
	if _, err := c.Audit(ctx, 0, 10); !client.IsCode(err, types.Forbidden) {
		t.Errorf("audit of an operator: %v", err)
	}
	submits := r.store.audited("run.submit")
	if len(submits) != 1 || submits[0].User != "ann" || submits[0].Token != made.ID || submits[0].Object != o.ID || !strings.Contains(submits[0].Detail, "10.0.0.0/8") {
		t.Errorf("audit %+v", submits)
	}
}

// runningAs has a queued run run.
func (r *rig) runningAs(id string) string {
	r.t.Helper()
	r.master.mu.Lock()
	defer r.master.mu.Unlock()
	for _, to := range []run.State{run.Compiling, run.Starting, run.Running} {
		if err := r.master.move(id, to, "master"); err != nil {
			r.t.Fatal(err)
		}
	}
	return id
}

// TestSubmitOverBrokenConnections holds that what is sent again is queued once.
func TestSubmitOverBrokenConnections(t *testing.T) {
	r := serve(t, Options{}).people()
	for n := range 10 {
		proxy := newCutter(t, r.addr, 2)
		c, err := client.New(proxy.Addr().String(), client.Options{Token: r.tokens[auth.Tester], Wait: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		o, err := c.Submit(t.Context(), types.Submission{Name: "x", Source: &run.Source{Scenario: scenario}})
		c.Close()
		if err != nil {
			t.Fatal(err)
		}
		if len(r.master.submitted) != n+1 || r.master.runs[n].ID != o.ID {
			t.Fatalf("%d are queued after %d submissions", len(r.master.submitted), n+1)
		}
	}
}

// TestClientLog holds a log that is followed over connections that are cut, of one executor
// and of two, from the place where each connection was cut.
func TestClientLog(t *testing.T) {
	for _, second := range []string{"", strings.Repeat("one of another\n", 4000)} {
		r := serve(t, Options{}).people()
		r.master.log, r.master.second = strings.Repeat("a line of a log\n", 4000), second
		id := r.running()
		c := r.client(auth.Viewer)
		var whole bytes.Buffer
		if err := c.Log(t.Context(), &whole, id, "", false); err != nil || second == "" && whole.String() != r.master.log {
			t.Errorf("%d bytes, %v", whole.Len(), err)
		}
		if got := r.ask(r.tokens[auth.Viewer], "GET", "/api/v1/runs/"+id+"/log", ""); got.body != whole.String() {
			t.Errorf("as text it has %d bytes, not %d", len(got.body), whole.Len())
		}
		proxy := newCutter(t, r.addr, 5)
		cut, err := client.New(proxy.Addr().String(), client.Options{Token: r.tokens[auth.Viewer], Wait: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		defer cut.Close()
		out := &lines{}
		var all sync.WaitGroup
		all.Go(func() {
			if err := cut.Log(t.Context(), out, id, "", true); err != nil {
				t.Error(err)
			}
		})
		eventually(t, "all that is there has come, once", func() bool { return out.String() == whole.String() })
		r.master.logMore <- "and more"
		eventually(t, "more has come", func() bool { return strings.HasSuffix(out.String(), "\nand more") })
		close(r.master.logMore)
		all.Wait()
		if proxy.cuts.Load() != 5 {
			t.Errorf("the connection was cut %d times", proxy.cuts.Load())
		}
		if err := c.Log(t.Context(), io.Discard, "20060102-150405-aaaaaa", "", true); !client.IsCode(err, types.NotFound) {
			t.Errorf("of no run: %v", err)
		}
		for _, after := range []string{"x", ":1", "a:", "a:-1", "a:1,"} {
			if got := r.ask(r.tokens[auth.Viewer], "GET", "/api/v1/runs/"+id+"/log?after="+after, ""); got.StatusCode != http.StatusBadRequest || got.problem(t).Code != types.BadParameter {
				t.Errorf("after %q: %d %s", after, got.StatusCode, got.body)
			}
		}
	}
}

func TestSeriesAndReports(t *testing.T) {
	r := serve(t, Options{}).people()
	id := r.running()
	c := r.client(auth.Viewer)
	series := func(q run.SeriesQuery) (got []run.Interval, err error) {
		q.Run = id
		err = c.Series(t.Context(), q, func(i run.Interval) error {
			got = append(got, i)
			return nil
		})
		return got, err
	}
	if got, err := series(run.SeriesQuery{}); len(got) != 0 || err != nil {
		t.Errorf("none: %v, %v", got, err)
	}
	var all []run.Interval
	for n := range 500 {
		count := int64(n)
		all = append(all, run.Interval{From: float64(n), Seconds: 1, Metrics: map[string]run.Record{"x": {Count: &count}}})
	}
	r.master.has(all, nil)
	if got, err := series(run.SeriesQuery{}); len(got) != 500 || err != nil || *got[499].Metrics["x"].Count != 499 {
		t.Errorf("all: %d, %v", len(got), err)
	}
	if got, err := series(run.SeriesQuery{From: 10 * time.Second, To: 12500 * time.Millisecond}); len(got) != 3 || err != nil || got[0].From != 10 {
		t.Errorf("a part: %v, %v", got, err)
	}
	var v types.Series
	if err := json.Unmarshal([]byte(r.ask(r.tokens[auth.Viewer], "GET", "/api/v1/runs/"+id+"/series?agent=a1", "").body), &v); err != nil || v.Run != id || v.Agent != "a1" || len(v.Intervals) != 500 {
		t.Errorf("%v, %d", err, len(v.Intervals))
	}
	for _, f := range report.Formats {
		format := strings.TrimPrefix(f.Ending, ".")
		body := must(c.Report(t.Context(), id, format))(t)
		got := must(io.ReadAll(body))(t)
		body.Close()
		res := must(c.Result(t.Context(), id))(t)
		var want bytes.Buffer
		if err := f.Write(&want, res, func(yield func(run.Interval) error) error {
			return r.master.Series(context.Background(), run.SeriesQuery{}, yield)
		}); err != nil {
			t.Fatal(err)
		}
		if media[format] == "" || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s has %d bytes, not %d", format, len(got), want.Len())
		}
	}
	if len(media) != len(report.Formats) {
		t.Errorf("%d media types of %d formats", len(media), len(report.Formats))
	}
	// Half a series is not taken for a whole one, nor half a report.
	r.master.has(all, io.ErrClosedPipe)
	if got, err := series(run.SeriesQuery{}); err == nil {
		t.Errorf("half of one: %d without an error", len(got))
	}
	if body, err := c.Report(t.Context(), id, "csv"); err == nil {
		if _, err := io.ReadAll(body); err == nil {
			t.Error("half a report looks whole")
		}
		body.Close()
	}
	r.master.has(nil, io.ErrClosedPipe)
	if _, err := series(run.SeriesQuery{}); !client.IsCode(err, types.Internal) {
		t.Errorf("none of one: %v", err)
	}
}

func TestFigures(t *testing.T) {
	r := serve(t, Options{}).people()
	got := r.ask("", "GET", "/metrics", "")
	for _, want := range []string{"gobench_runs_queued 3\n", "gobench_batches_total 7\n", "gobench_batch_merge_seconds_bucket{le=\"0.05\"} 0\n", "gobench_info{version=", "go_goroutines "} {
		if !strings.Contains(got.body, want) {
			t.Errorf("%q is missing in %d %s", want, got.StatusCode, got.body)
		}
	}
	if got := r.ask(r.tokens[auth.Viewer], "GET", "/metrics", "", "X-Forwarded-For", "192.0.2.1"); got.StatusCode != 200 {
		t.Errorf("a viewer: %d", got.StatusCode)
	}
	if got := r.ask("", "GET", "/readyz", ""); got.StatusCode != 200 || got.body != "ready\n" {
		t.Errorf("%d %q", got.StatusCode, got.body)
	}
	r.master.ready = errors.New("the disk is full")
	if got := r.ask("", "GET", "/readyz", ""); got.StatusCode != 503 || got.body != "not ready: the disk is full\n" {
		t.Errorf("%d %q", got.StatusCode, got.body)
	}
	if got := r.ask("", "GET", "/readyz", "", "X-Forwarded-For", "192.0.2.1"); got.StatusCode != 503 || got.body != "not ready\n" {
		t.Errorf("to anybody: %d %q", got.StatusCode, got.body)
	}
	if got := r.ask("", "GET", "/healthz", ""); got.StatusCode != 200 || got.body != "ok\n" {
		t.Errorf("%d %q", got.StatusCode, got.body)
	}
	if got := r.ask("", "GET", "/api/v1/openapi.json", ""); got.StatusCode != 200 || got.body != string(Document()) {
		t.Errorf("the document: %d, %d bytes", got.StatusCode, len(got.body))
	}
}
