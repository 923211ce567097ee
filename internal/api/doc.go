// Package api serves a master over HTTP: JSON under /api/v1, one stream of server-sent
// events, /metrics and the pages of the dashboard. docs/http-api.md is the page for its
// users, docs/openapi.json its description for programs.
//
// Each route is one row of the table in routes.go: pattern, summary, who may call it,
// limits and handler. [Server.ServeHTTP] checks the address of a request, the guard of
// its route (guard.go) checks the login, the role and the body, ownership.go checks whose
// record it is about, and then the handler runs. Handlers have huma's form: a struct with
// the parameters in, a struct with the answer out. Errors are problems of RFC 9457
// (problem.go).
//
// The package stores nothing itself. [Master] is what it needs of the master, [Store]
// holds users, sessions, tokens, the audit log and the answers to idempotency keys; the
// caller of [New] provides both.
package api
