package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/run"
)

// expectedStatuses holds, for each route, the status of a request without a login and
// of one with a token of each role: viewer, tester, operator, admin. The requests are
// those of TestEachRouteRefusesOtherRoles. It is written by hand, so that a wrong rule
// in [routes] is found; 401 and 403 are what it is about.
var expectedStatuses = map[string][5]int{
	"GET /healthz":                      {200, 200, 200, 200, 200},
	"GET /readyz":                       {200, 200, 200, 200, 200},
	"GET /metrics":                      {401, 200, 200, 200, 200},
	"GET /api/v1/openapi.json":          {200, 200, 200, 200, 200},
	"GET /api/v1/info":                  {200, 200, 200, 200, 200},
	"POST /api/v1/setup":                {400, 400, 400, 400, 400},
	"POST /api/v1/login":                {400, 400, 400, 400, 400},
	"POST /api/v1/logout":               {401, 403, 403, 403, 403},
	"GET /api/v1/me":                    {401, 200, 200, 200, 200},
	"PUT /api/v1/me/password":           {401, 400, 400, 400, 400},
	"GET /api/v1/tokens":                {401, 200, 200, 200, 200},
	"POST /api/v1/tokens":               {401, 400, 400, 400, 400},
	"DELETE /api/v1/tokens/{id}":        {401, 404, 404, 404, 404},
	"GET /api/v1/users":                 {401, 403, 403, 403, 200},
	"POST /api/v1/users":                {401, 403, 403, 403, 400},
	"GET /api/v1/users/{id}":            {401, 403, 403, 403, 404},
	"PATCH /api/v1/users/{id}":          {401, 403, 403, 403, 400},
	"GET /api/v1/audit":                 {401, 403, 403, 403, 200},
	"GET /api/v1/applications":          {401, 200, 200, 200, 200},
	"POST /api/v1/applications":         {401, 403, 400, 400, 400},
	"GET /api/v1/applications/{id}":     {401, 404, 404, 404, 404},
	"PUT /api/v1/applications/{id}":     {401, 403, 400, 400, 400},
	"DELETE /api/v1/applications/{id}":  {401, 403, 404, 404, 404},
	"GET /api/v1/runs":                  {401, 200, 200, 200, 200},
	"POST /api/v1/runs":                 {401, 403, 400, 400, 400},
	"GET /api/v1/runs/{id}":             {401, 404, 404, 404, 404},
	"DELETE /api/v1/runs/{id}":          {401, 403, 404, 404, 404},
	"POST /api/v1/runs/{id}/stop":       {401, 403, 404, 404, 404},
	"POST /api/v1/runs/{id}/cancel":     {401, 403, 404, 404, 404},
	"POST /api/v1/runs/{id}/rerun":      {401, 403, 404, 404, 404},
	"POST /api/v1/runs/{id}/control":    {401, 403, 400, 400, 400},
	"GET /api/v1/runs/{id}/transitions": {401, 404, 404, 404, 404},
	"GET /api/v1/runs/{id}/result":      {401, 404, 404, 404, 404},
	"GET /api/v1/runs/{id}/series":      {401, 404, 404, 404, 404},
	"GET /api/v1/runs/{id}/report":      {401, 404, 404, 404, 404},
	"GET /api/v1/runs/{id}/log":         {401, 404, 404, 404, 404},
	"POST /api/v1/runs/{id}/profile":    {401, 403, 400, 400, 400},
	"GET /api/v1/runs/{id}/export":      {401, 404, 404, 404, 404},
	"POST /api/v1/runs/import":          {401, 403, 415, 415, 415},
	"POST /api/v1/stop-all":             {401, 403, 403, 400, 400},
	"GET /api/v1/events":                {401, 404, 404, 404, 404},
	"GET /api/v1/agents":                {401, 200, 200, 200, 200},
	"DELETE /api/v1/agents/{id}":        {401, 403, 403, 404, 404},
	"GET /api/v1/join-tokens":           {401, 403, 403, 200, 200},
	"POST /api/v1/join-tokens":          {401, 403, 403, 400, 400},
}

// TestEachRouteRefusesOtherRoles sends a request to each route without a login and as
// each role. Records that the path names do not exist, and bodies have an unknown field.
func TestEachRouteRefusesOtherRoles(t *testing.T) {
	r := serve(t, Options{}).people()
	r.master.agents = []Agent{oneAgent}
	for i := range routes {
		rt := &routes[i]
		want, ok := expectedStatuses[rt.pattern]
		if !ok {
			t.Errorf("%s is missing in expectedStatuses", rt.pattern)
		}
		method, path, _ := strings.Cut(rt.pattern, " ")
		path = strings.ReplaceAll(path, "{id}", "20060102-150405-aaaaaa")
		if path == "/api/v1/events" {
			path += "?run=20060102-150405-aaaaaa" // without it the stream would not end
		}
		body := ""
		if rt.body > 0 {
			body = `{"no_such_field":1}`
		}
		var got [5]int
		for i, role := range []auth.Role{"", auth.Viewer, auth.Tester, auth.Operator, auth.Admin} {
			// The header has /metrics take it for a request from another host.
			got[i] = r.ask(r.tokens[role], method, path, body, "X-Forwarded-For", "192.0.2.1").StatusCode
		}
		if got != want {
			t.Errorf("%q: %v, want %v", rt.pattern, got, want)
		}
	}
	if len(expectedStatuses) != len(routes) {
		t.Errorf("expectedStatuses has %d routes, there are %d", len(expectedStatuses), len(routes))
	}
	denied := r.store.audited("user.create")
	if !slices.ContainsFunc(denied, func(e auth.Entry) bool { return e.Result == "denied" && e.User == "viewer" && e.Token != "" }) ||
		!slices.ContainsFunc(denied, func(e auth.Entry) bool { return e.Result == "denied" && e.User == "" }) {
		t.Errorf("denied requests are missing in the audit log: %+v", denied)
	}
}

// TestRoutesThatRefuseTokens holds what a stolen API token must not be able to do.
func TestRoutesThatRefuseTokens(t *testing.T) {
	r := serve(t, Options{}).people()
	for pattern, body := range map[string]string{
		"POST /api/v1/logout":     "",
		"POST /api/v1/tokens":     `{"name":"x"}`,
		"PUT /api/v1/me/password": `{"old":"` + password + `","new":"another long one"}`,
	} {
		method, path, _ := strings.Cut(pattern, " ")
		if got := r.ask(r.tokens[auth.Admin], method, path, body); got.StatusCode != http.StatusForbidden || got.problem(t).Code != "session_required" {
			t.Errorf("%s: %d %s", pattern, got.StatusCode, got.body)
		}
	}
}

// TestEachRouteIsServed holds that the mux has each route of the table under its pattern.
func TestEachRouteIsServed(t *testing.T) {
	r := serve(t, Options{})
	for i := range routes {
		method, path, _ := strings.Cut(routes[i].pattern, " ")
		req, _ := http.NewRequest(method, r.url+strings.ReplaceAll(path, "{id}", "x"), nil)
		if _, got := r.api.mux.Handler(req); got != routes[i].pattern {
			t.Errorf("%s is served by %q", routes[i].pattern, got)
		}
	}
}

// TestChangesAreAudited holds that each route but a GET has an action for the audit log.
func TestChangesAreAudited(t *testing.T) {
	for i := range routes {
		if get := strings.HasPrefix(routes[i].pattern, "GET "); get == (routes[i].audit != "") {
			t.Errorf("%s has the action %q", routes[i].pattern, routes[i].audit)
		}
	}
}

// TestOwnThings holds what a role's holder may do to what is another's.
func TestOwnThings(t *testing.T) {
	r := serve(t, Options{}).people()
	r.user("other", auth.Tester)
	other := r.token("other", auth.Tester)
	for _, path := range []string{"/stop", "/cancel", "/rerun", "/control", "/profile", ""} {
		id := r.running()
		method, body := "POST", ""
		want := map[string]int{"other": http.StatusForbidden, "operator": http.StatusAccepted, "own": http.StatusAccepted}
		switch path {
		case "":
			method = "DELETE"
			want["operator"], want["own"] = http.StatusConflict, http.StatusConflict // it runs
		case "/control":
			body = `{"what":"pause"}`
		case "/rerun":
			want = map[string]int{"other": http.StatusCreated, "operator": http.StatusCreated, "own": http.StatusCreated}
		case "/profile":
			body = `{"kind":"cpu"}`
			want["operator"], want["own"] = http.StatusOK, http.StatusOK
		case "/cancel":
			want["own"] = http.StatusConflict // the operator has
		case "/stop":
			want["own"] = http.StatusConflict
		}
		for _, who := range []struct{ name, token string }{{"other", other}, {"operator", r.tokens[auth.Operator]}, {"own", r.tokens[auth.Tester]}} {
			if got := r.ask(who.token, method, "/api/v1/runs/"+id+path, body); got.StatusCode != want[who.name] {
				t.Errorf("%s %q of %s: %d %s", method, path, who.name, got.StatusCode, got.body)
			}
		}
	}
	// Applications, of another user, an operator and the owner.
	app := decode200[run.Application](t, r.ask(r.tokens[auth.Tester], "POST", "/api/v1/applications", `{"name":"a","scenario":"x"}`))
	for _, tt := range []struct {
		method, body, token string
		want                int
	}{
		{"PUT", `{"name":"b","scenario":"x"}`, other, http.StatusForbidden},
		{"DELETE", "", other, http.StatusForbidden},
		{"PUT", `{"name":"b","scenario":"x"}`, r.tokens[auth.Operator], http.StatusOK},
		{"PUT", `{"name":"c","scenario":"x"}`, r.tokens[auth.Tester], http.StatusOK},
		{"DELETE", "", r.tokens[auth.Operator], http.StatusNoContent},
	} {
		if got := r.ask(tt.token, tt.method, "/api/v1/applications/"+app.ID, tt.body, "If-Match", "*"); got.StatusCode != tt.want {
			t.Errorf("%s %s: %d %s, want %d", tt.method, tt.body, got.StatusCode, got.body, tt.want)
		}
	}
	// An API token of another user looks as if it did not exist.
	mine := r.token("admin", auth.Viewer)
	id, _, _ := auth.ParseToken(mine)
	got, none := r.ask(other, "DELETE", "/api/v1/tokens/"+id, ""), r.ask(other, "DELETE", "/api/v1/tokens/"+auth.NewID(), "")
	if got.StatusCode != http.StatusNotFound || none.StatusCode != http.StatusNotFound || got.problem(t).Detail != none.problem(t).Detail {
		t.Errorf("another's token: %s, none: %s", got.body, none.body)
	}
	if got := r.ask(mine, "GET", "/api/v1/me", ""); got.StatusCode != http.StatusOK {
		t.Errorf("it was revoked: %s", got.body)
	}
}
