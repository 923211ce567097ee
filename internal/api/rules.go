package api

import (
	"github.com/gobench-io/gobench/internal/api/auth"
)

// rule is what a route asks of a request.
type rule struct {
	role       auth.Role // at least; empty: anybody may
	body       int64     // it has one of JSON, of so many bytes at most; 0: it has none
	archive    int64     // it has one that is no JSON and is read as it comes, of so many bytes at most
	audit      string    // action that is written down; empty: it changes nothing
	idempotent bool      // an Idempotency-Key makes it happen once
	endless    bool      // goes on for long: no deadline, counted, ended with its login
	self       bool      // judges by itself who may: the rule's role is what it says to others
}

// rules are those of all routes: one that has none here can't be served. Who may do what
// stands here and nowhere else, but for what depends on whose a thing is (mine).
var rules = map[string]rule{
	"GET /healthz": {},
	"GET /readyz":  {},
	"GET /metrics": {role: auth.Viewer, self: true}, // or from the same host: see metrics.go

	"GET /api/v1/openapi.json": {},
	"GET /api/v1/info":         {},
	"POST /api/v1/setup":       {body: smallBody, audit: "setup"},
	"POST /api/v1/login":       {body: smallBody, audit: "login"},
	"POST /api/v1/logout":      {role: auth.Viewer, audit: "logout"},
	"GET /api/v1/me":           {role: auth.Viewer},
	"PUT /api/v1/me/password":  {role: auth.Viewer, body: smallBody, audit: "password.change"},

	"GET /api/v1/tokens":         {role: auth.Viewer},
	"POST /api/v1/tokens":        {role: auth.Viewer, body: smallBody, audit: "token.create"},
	"DELETE /api/v1/tokens/{id}": {role: auth.Viewer, audit: "token.revoke"},

	"GET /api/v1/users":        {role: auth.Admin},
	"POST /api/v1/users":       {role: auth.Admin, body: smallBody, audit: "user.create"},
	"GET /api/v1/users/{id}":   {role: auth.Admin},
	"PATCH /api/v1/users/{id}": {role: auth.Admin, body: smallBody, audit: "user.change"},
	"GET /api/v1/audit":        {role: auth.Admin},

	"GET /api/v1/applications":         {role: auth.Viewer},
	"POST /api/v1/applications":        {role: auth.Tester, body: sourceBody, audit: "application.create", idempotent: true},
	"GET /api/v1/applications/{id}":    {role: auth.Viewer},
	"PUT /api/v1/applications/{id}":    {role: auth.Tester, body: sourceBody, audit: "application.change"},
	"DELETE /api/v1/applications/{id}": {role: auth.Tester, audit: "application.delete"},

	"GET /api/v1/runs":                  {role: auth.Viewer},
	"POST /api/v1/runs":                 {role: auth.Tester, body: sourceBody, audit: "run.submit", idempotent: true},
	"GET /api/v1/runs/{id}":             {role: auth.Viewer},
	"DELETE /api/v1/runs/{id}":          {role: auth.Tester, audit: "run.delete"},
	"POST /api/v1/runs/{id}/stop":       {role: auth.Tester, audit: "run.stop"},
	"POST /api/v1/runs/{id}/cancel":     {role: auth.Tester, audit: "run.cancel"},
	"POST /api/v1/runs/{id}/rerun":      {role: auth.Tester, audit: "run.rerun", idempotent: true},
	"POST /api/v1/runs/{id}/control":    {role: auth.Tester, body: smallBody, audit: "run.control"},
	"GET /api/v1/runs/{id}/transitions": {role: auth.Viewer},
	"GET /api/v1/runs/{id}/result":      {role: auth.Viewer},
	"GET /api/v1/runs/{id}/series":      {role: auth.Viewer},
	"GET /api/v1/runs/{id}/report":      {role: auth.Viewer},
	"GET /api/v1/runs/{id}/log":         {role: auth.Viewer, endless: true},
	"POST /api/v1/runs/{id}/profile":    {role: auth.Tester, body: smallBody, audit: "run.profile", endless: true},
	"GET /api/v1/runs/{id}/export":      {role: auth.Viewer, endless: true},
	"POST /api/v1/runs/import":          {role: auth.Tester, archive: archiveBody, audit: "run.import", endless: true},
	"POST /api/v1/stop-all":             {role: auth.Operator, body: smallBody, audit: "stop-all"},
	"GET /api/v1/events":                {role: auth.Viewer, endless: true},

	"GET /api/v1/agents":         {role: auth.Viewer},
	"DELETE /api/v1/agents/{id}": {role: auth.Operator, audit: "agent.revoke"},
	"GET /api/v1/join-tokens":    {role: auth.Operator},
	"POST /api/v1/join-tokens":   {role: auth.Operator, body: smallBody, audit: "join-token.create"},
}
