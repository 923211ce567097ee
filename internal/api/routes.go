package api

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/run"
)

// route is one route of the API: the server, its guard, the OpenAPI document and the
// audit log all read it from [routes]. To add a route, add a row there and write its
// handler; TestEachRouteRefusesOtherRoles then asks for what each role gets from it.
type route struct {
	pattern string // method and path, as [http.ServeMux] reads them
	id      string // operation id in the OpenAPI document
	summary string // one line in the OpenAPI document
	rule
	handler handler
}

// rule is what the guard of a route checks of a request, and what the route answers.
type rule struct {
	role    auth.Role  // the least role that may call it; empty: anyone, without a login
	own     *ownership // who may call it for the record in its path; nil: everyone with the role
	session bool       // it refuses API tokens: a stolen token must not be able to do this
	local   bool       // requests from the master's own host need no login

	body       int64  // limit of its JSON body, in bytes; 0: it takes no body
	archive    int64  // limit of a body that is an archive and is read as a stream, in bytes
	audit      string // action in the audit log; empty: it changes nothing
	idempotent bool   // with an Idempotency-Key, repeated requests have the effect of one
	endless    bool   // its answer may take long: it has no deadline, counts as a stream and ends with the login

	status  int          // of a success; 0: 200, or 204 without a body
	content []string     // media types of an answer that is not a single JSON value
	schema  reflect.Type // of content other than text/plain; nil: a string
	errors  []int        // statuses of its problems beyond those that follow from the other fields
}

// routes holds all routes of the API, with one exception: the paths of the dashboard
// (Options.UI). Who may do what is written here and nowhere else.
var routes = []route{
	{"GET /healthz", "", "", rule{}, plain((*Server).healthz)},
	{"GET /readyz", "", "", rule{}, plain((*Server).readyz)},
	{"GET /metrics", "", "", rule{role: auth.Viewer, local: true}, plain((*Server).metrics)},
	{"GET /api/v1/openapi.json", "", "", rule{}, plain((*Server).openAPI)},

	{"GET /api/v1/info", "information", "What is public about the master",
		rule{}, operation((*Server).information)},
	{"POST /api/v1/setup", "setup", "Create the first user, an admin, and log in",
		rule{body: smallBody, audit: "setup", status: http.StatusCreated, errors: badPassword}, operation((*Server).doSetup)},
	{"POST /api/v1/login", "login", "Start a session",
		rule{body: smallBody, audit: "login", errors: badPassword}, operation((*Server).login)},
	{"POST /api/v1/logout", "logout", "End the session",
		rule{role: auth.Viewer, session: true, audit: "logout"}, operation((*Server).logout)},
	{"GET /api/v1/me", "me", "Get the user and the login of the request",
		rule{role: auth.Viewer}, operation((*Server).me)},
	{"PUT /api/v1/me/password", "change-password", "Change the user's own password, end all sessions and start a new one",
		rule{role: auth.Viewer, session: true, body: smallBody, audit: "password.change", errors: badPassword}, operation((*Server).changePassword)},

	{"GET /api/v1/tokens", "list-tokens", "List API tokens",
		rule{role: auth.Viewer}, operation((*Server).tokens)},
	{"POST /api/v1/tokens", "create-token", "Create an API token",
		rule{role: auth.Viewer, session: true, body: smallBody, audit: "token.create", status: http.StatusCreated}, operation((*Server).newToken)},
	{"DELETE /api/v1/tokens/{id}", "revoke-token", "Revoke an API token",
		rule{role: auth.Viewer, own: ownToken, audit: "token.revoke"}, operation((*Server).revokeToken)},

	{"GET /api/v1/users", "list-users", "List users",
		rule{role: auth.Admin}, operation((*Server).users)},
	{"POST /api/v1/users", "create-user", "Create a user",
		rule{role: auth.Admin, body: smallBody, audit: "user.create", status: http.StatusCreated}, operation((*Server).newUser)},
	{"GET /api/v1/users/{id}", "get-user", "Get a user",
		rule{role: auth.Admin}, operation((*Server).user)},
	{"PATCH /api/v1/users/{id}", "change-user", "Change a user's role or password, or disable it",
		rule{role: auth.Admin, body: smallBody, audit: "user.change"}, operation((*Server).changeUser)},
	{"GET /api/v1/audit", "list-audit", "List the audit log, newest first",
		rule{role: auth.Admin}, operation((*Server).auditLog)},

	{"GET /api/v1/applications", "list-applications", "List applications, without their sources",
		rule{role: auth.Viewer}, operation((*Server).applications)},
	{"POST /api/v1/applications", "create-application", "Create an application",
		rule{role: auth.Tester, body: sourceBody, audit: "application.create", idempotent: true, status: http.StatusCreated}, operation((*Server).newApplication)},
	{"GET /api/v1/applications/{id}", "get-application", "Get an application with its source",
		rule{role: auth.Viewer}, operation((*Server).application)},
	{"PUT /api/v1/applications/{id}", "change-application", "Change an application",
		rule{role: auth.Tester, own: ownApplication, body: sourceBody, audit: "application.change"}, operation((*Server).changeApplication)},
	{"DELETE /api/v1/applications/{id}", "delete-application", "Delete an application",
		rule{role: auth.Tester, own: ownApplication, audit: "application.delete"}, operation((*Server).deleteApplication)},

	{"GET /api/v1/runs", "list-runs", "List runs, newest first",
		rule{role: auth.Viewer}, operation((*Server).runs)},
	{"POST /api/v1/runs", "submit-run", "Queue a run",
		rule{role: auth.Tester, body: sourceBody, audit: "run.submit", idempotent: true, status: http.StatusCreated}, operation((*Server).submit)},
	{"GET /api/v1/runs/{id}", "get-run", "Get a run",
		rule{role: auth.Viewer}, operation((*Server).run)},
	{"DELETE /api/v1/runs/{id}", "delete-run", "Delete a run that has ended, with all its data",
		rule{role: auth.Tester, own: ownRun, audit: "run.delete"}, operation((*Server).deleteRun)},
	{"POST /api/v1/runs/{id}/stop", "stop-run", "End the load and wait for what is under way",
		rule{role: auth.Tester, own: ownRun, audit: "run.stop", status: http.StatusAccepted}, operation((*Server).stopRun)},
	{"POST /api/v1/runs/{id}/cancel", "cancel-run", "End a run at once, in any state",
		rule{role: auth.Tester, own: ownRun, audit: "run.cancel", status: http.StatusAccepted}, operation((*Server).cancelRun)},
	{"POST /api/v1/runs/{id}/rerun", "rerun", "Queue a run with the source and the options of this run, also if its application has changed since",
		rule{role: auth.Tester, audit: "run.rerun", idempotent: true, status: http.StatusCreated}, operation((*Server).rerun)},
	{"POST /api/v1/runs/{id}/control", "control-run", "Pause, resume or scale the load",
		rule{role: auth.Tester, own: ownRun, body: smallBody, audit: "run.control", status: http.StatusAccepted}, operation((*Server).control)},
	{"GET /api/v1/runs/{id}/transitions", "get-transitions", "Get the states that a run has gone through",
		rule{role: auth.Viewer}, operation((*Server).transitions)},
	{"GET /api/v1/runs/{id}/result", "get-result", "Get the result; of a run that has not ended, the result so far",
		rule{role: auth.Viewer}, operation((*Server).result)},
	{"GET /api/v1/runs/{id}/series", "get-series", "Get a run's intervals",
		rule{role: auth.Viewer, content: []string{"application/json"}, schema: reflect.TypeFor[types.Series]()}, operation((*Server).series)},
	{"GET /api/v1/runs/{id}/report", "get-report", "Get the report, as a file",
		rule{role: auth.Viewer, content: []string{"application/json", "text/csv", "application/xml", "text/markdown", "text/html"}}, operation((*Server).report)},
	{"GET /api/v1/runs/{id}/log", "get-log", "Get what the executors printed",
		rule{role: auth.Viewer, endless: true, content: []string{"text/plain", "application/jsonl"}, schema: reflect.TypeFor[run.LogPiece]()}, operation((*Server).logOf)},
	{"POST /api/v1/runs/{id}/profile", "profile-run", "Take a profile of an executor",
		rule{role: auth.Tester, own: ownRun, body: smallBody, audit: "run.profile", endless: true, content: []string{"application/octet-stream"}}, operation((*Server).profile)},
	{"GET /api/v1/runs/{id}/export", "export-run", "Get a run that has ended as an archive",
		rule{role: auth.Viewer, endless: true, content: []string{archiveType}}, operation((*Server).export)},
	{"POST /api/v1/runs/import", "import-run", "Import a run from an archive",
		rule{role: auth.Tester, archive: archiveBody, audit: "run.import", endless: true, status: http.StatusCreated}, operation((*Server).importRun)},
	{"POST /api/v1/stop-all", "stop-all", "Cancel the active run and, on request, all queued ones",
		rule{role: auth.Operator, body: smallBody, audit: "stop-all"}, operation((*Server).stopAll)},
	{"GET /api/v1/events", "stream-events", "Follow events, as a stream of server-sent events",
		rule{role: auth.Viewer, endless: true, content: []string{"text/event-stream"}, schema: reflect.TypeFor[types.Event](), errors: []int{http.StatusNotFound, http.StatusGone}}, operation((*Server).events)},

	{"GET /api/v1/agents", "list-agents", "List agents and their state",
		rule{role: auth.Viewer}, operation((*Server).agents)},
	{"DELETE /api/v1/agents/{id}", "revoke-agent", "Revoke an agent",
		rule{role: auth.Operator, audit: "agent.revoke"}, operation((*Server).revokeAgent)},
	{"GET /api/v1/join-tokens", "list-join-tokens", "List join tokens",
		rule{role: auth.Operator}, operation((*Server).joinTokens)},
	{"POST /api/v1/join-tokens", "create-join-token", "Create a token for one agent",
		rule{role: auth.Operator, body: smallBody, audit: "join-token.create", status: http.StatusCreated}, operation((*Server).newJoinToken)},
}

// badPassword holds the further statuses of routes that check a password.
var badPassword = []int{http.StatusUnauthorized, http.StatusTooManyRequests}

// handler does a route's work after its guard. One of its fields is set.
type handler struct {
	plain    func(*Server, http.ResponseWriter, *http.Request) // not in the OpenAPI document
	register func(*Server, huma.API, huma.Operation, *route)
}

// plain makes a handler of a method that reads and writes HTTP itself. The guard has
// checked the role; own and session of its rule are not checked.
func plain(h func(*Server, http.ResponseWriter, *http.Request)) handler {
	return handler{plain: h}
}

// operation makes a handler of a method whose I and O describe its parameters and its
// answer: huma parses and checks them and writes the OpenAPI document from them. The guard
// and permit come before the method. An error of the method is answered as problemOf says.
func operation[I, O any](h func(*Server, context.Context, *I) (*O, error)) handler {
	return handler{register: func(s *Server, a huma.API, op huma.Operation, rt *route) {
		huma.Register(a, op, func(ctx context.Context, in *I) (*O, error) {
			if err := s.permit(ctx, rt); err != nil {
				return nil, err
			}
			return h(s, ctx, in)
		})
	}}
}
