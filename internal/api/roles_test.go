package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/api/auth"
)

// TestEachRouteAsksItsRole walks all routes as nobody and as each role: with less than
// what the table says a request must be refused, with it let through to its handler.
func TestEachRouteAsksItsRole(t *testing.T) {
	r := serve(t, Options{}).people()
	r.master.agents = []Agent{oneAgent}
	all := []auth.Role{"", auth.Viewer, auth.Tester, auth.Operator, auth.Admin}
	patterns := 0
	for pattern, what := range rules {
		method, path, _ := strings.Cut(pattern, " ")
		path = strings.ReplaceAll(path, "{id}", "20060102-150405-aaaaaa") // there is none
		patterns++
		for _, role := range all {
			body := ""
			if what.body > 0 {
				body = `{"no_such_field":1}`
			}
			headers := []string{"X-Forwarded-For", "192.0.2.1"} // so that /metrics is not asked from this host
			if path == "/api/v1/events" {
				path = "/api/v1/events?run=20060102-150405-aaaaaa"
			}
			got := r.ask(r.tokens[role], method, path, body, headers...)
			want := http.StatusOK
			switch {
			case what.role != "" && role == "":
				want = http.StatusUnauthorized
			case what.role != "" && !role.Covers(what.role):
				want = http.StatusForbidden
			}
			let := got.StatusCode != http.StatusUnauthorized && got.StatusCode != http.StatusForbidden
			if pattern == "POST /api/v1/logout" && want == http.StatusOK {
				want, let = http.StatusForbidden, true // of tokens
				if p := got.problem(t); p.Code != "session_required" {
					t.Errorf("logout of a token: %+v", p)
				}
				continue
			}
			if (want == http.StatusOK) != let || !let && got.StatusCode != want {
				t.Errorf("%s as %q: status %d, wanted %d, %s", pattern, role, got.StatusCode, want, got.body)
			}
			if got.StatusCode >= 500 {
				t.Errorf("%s as %q: status %d, %s", pattern, role, got.StatusCode, got.body)
			}
		}
	}
	if patterns < 40 {
		t.Errorf("only %d routes", patterns)
	}
	denied := r.store.audited("user.create")
	if !slices.ContainsFunc(denied, func(e auth.Entry) bool { return e.Result == "denied" && e.User == "viewer" && e.Token != "" }) ||
		!slices.ContainsFunc(denied, func(e auth.Entry) bool { return e.Result == "denied" && e.User == "" }) {
		t.Errorf("who was denied is not written down: %+v", denied)
	}
}

// TestEachRuleHasARoute finds rules that nothing is served by.
func TestEachRuleHasARoute(t *testing.T) {
	r := serve(t, Options{})
	for pattern := range rules {
		method, path, _ := strings.Cut(pattern, " ")
		req, _ := http.NewRequest(method, r.url+strings.ReplaceAll(path, "{id}", "x"), nil)
		if _, got := r.api.mux.Handler(req); got != pattern {
			t.Errorf("%s is served by %q", pattern, got)
		}
	}
}

// TestChangesAreAudited holds that what is not a GET has an action.
func TestChangesAreAudited(t *testing.T) {
	for pattern, what := range rules {
		if get := strings.HasPrefix(pattern, "GET "); get == (what.audit != "") {
			t.Errorf("%s has the action %q", pattern, what.audit)
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
	// An API token of somebody else looks like none.
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
