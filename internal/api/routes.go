package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/version"
)

// guarded is a ServeMux each of whose routes is guarded by its rule.
type guarded struct{ *Server }

func (g guarded) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	g.mux.HandleFunc(pattern, g.guard(pattern, h))
}

// routes registers all there are.
func (s *Server) routes() {
	g := guarded{s}
	document := s.describe(humago.NewAdapter(g, ""))
	g.HandleFunc("GET /healthz", s.healthz)
	g.HandleFunc("GET /readyz", s.readyz)
	g.HandleFunc("GET /metrics", s.metrics())
	g.HandleFunc("GET /api/v1/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(document)
	})
}

// Document is the OpenAPI 3.1 document of the API, indented.
func Document() []byte {
	return new(Server).describe(nowhere{})
}

// nowhere is an adapter for a document of routes that nobody serves.
type nowhere struct{}

func (nowhere) Handle(*huma.Operation, func(huma.Context))       {}
func (nowhere) ServeHTTP(w http.ResponseWriter, r *http.Request) {}

// describe registers the operations with an adapter and gives their document.
func (s *Server) describe(a huma.Adapter) []byte {
	config := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "gobench", Version: version.Version,
				Description: "What a gobench master can do. docs/http-api.md tells how to use it.",
			},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"token":   {Type: "http", Scheme: "bearer", Description: "an API token: gbt_ID_SECRET"},
					"session": {Type: "apiKey", In: "cookie", Name: "gobench", Description: "what a login gave; __Host-gobench over TLS"},
				},
			},
		},
		Formats:                      map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers: []huma.Transformer{func(ctx huma.Context, _ string, v any) (any, error) {
			if p, ok := v.(*problem); ok {
				for name, values := range p.GetHeaders() {
					ctx.SetHeader(name, values[0])
				}
				return p.complete(asked(ctx.Context())), nil
			}
			return v, nil
		}},
	}
	api := huma.NewAPI(config, a)
	s.operations(api)
	b, err := json.MarshalIndent(api.OpenAPI(), "", " ")
	if err != nil {
		panic(err) // of constants
	}
	return append(bytes.TrimSpace(b), '\n')
}

func (s *Server) operations(a huma.API) {
	// huma's base64 has at least one byte, a file may have none.
	schemas := a.OpenAPI().Components.Schemas
	data := schemas.SchemaFromRef(schemas.Schema(reflect.TypeFor[run.File](), true, "").Ref).Properties["data"]
	data.ContentEncoding, data.Nullable, data.Description = "", true, "base64"

	add(a, "GET /api/v1/info", "information", "What anybody may know of the master", 0, s.information)
	add(a, "POST /api/v1/setup", "setup", "Make the first user, an admin, and log in", http.StatusCreated, s.doSetup)
	add(a, "POST /api/v1/login", "login", "Begin a session", 0, s.login)
	add(a, "POST /api/v1/logout", "logout", "End the session", 0, s.logout)
	add(a, "GET /api/v1/me", "me", "Who asks", 0, s.me)
	add(a, "PUT /api/v1/me/password", "change-password", "Change one's password, and end one's sessions but for a new one", 0, s.changePassword)

	add(a, "GET /api/v1/tokens", "list-tokens", "List API tokens", 0, s.tokens)
	add(a, "POST /api/v1/tokens", "create-token", "Make an API token", http.StatusCreated, s.newToken)
	add(a, "DELETE /api/v1/tokens/{id}", "revoke-token", "Revoke an API token", 0, s.revokeToken)

	add(a, "GET /api/v1/users", "list-users", "List users", 0, s.users)
	add(a, "POST /api/v1/users", "create-user", "Make a user", http.StatusCreated, s.newUser)
	add(a, "GET /api/v1/users/{id}", "get-user", "Get a user", 0, s.user)
	add(a, "PATCH /api/v1/users/{id}", "change-user", "Change a user's role or password, or disable it", 0, s.changeUser)
	add(a, "GET /api/v1/audit", "list-audit", "List what was done and denied, the newest first", 0, s.auditLog)

	add(a, "GET /api/v1/applications", "list-applications", "List applications, without their sources", 0, s.applications)
	add(a, "POST /api/v1/applications", "create-application", "Make an application", http.StatusCreated, s.newApplication)
	add(a, "GET /api/v1/applications/{id}", "get-application", "Get an application with its source", 0, s.application)
	add(a, "PUT /api/v1/applications/{id}", "change-application", "Change an application", 0, s.changeApplication)
	add(a, "DELETE /api/v1/applications/{id}", "delete-application", "Delete an application", 0, s.deleteApplication)

	add(a, "GET /api/v1/runs", "list-runs", "List runs, the newest first", 0, s.runs)
	add(a, "POST /api/v1/runs", "submit-run", "Queue a run", http.StatusCreated, s.submit)
	add(a, "GET /api/v1/runs/{id}", "get-run", "Get a run", 0, s.run)
	add(a, "DELETE /api/v1/runs/{id}", "delete-run", "Delete a run that is over, with all that belongs to it", 0, s.deleteRun)
	add(a, "POST /api/v1/runs/{id}/stop", "stop-run", "End the load, and let what is under way end", http.StatusAccepted, s.stopRun)
	add(a, "POST /api/v1/runs/{id}/cancel", "cancel-run", "End a run at once, in any state", http.StatusAccepted, s.cancelRun)
	add(a, "POST /api/v1/runs/{id}/rerun", "rerun", "Queue a run of the same application, as it now is, with the same options", http.StatusCreated, s.rerun)
	add(a, "POST /api/v1/runs/{id}/control", "control-run", "Pause, resume or scale the load", http.StatusAccepted, s.control)
	add(a, "GET /api/v1/runs/{id}/transitions", "get-transitions", "Get the states that a run has gone through", 0, s.transitions)
	add(a, "GET /api/v1/runs/{id}/result", "get-result", "Get the result, of a run that goes on as far as it is known", 0, s.result)
	add(a, "GET /api/v1/runs/{id}/series", "get-series", "Get a run's intervals", 0, s.series)
	add(a, "GET /api/v1/runs/{id}/report", "get-report", "Get the report, as a file", 0, s.report)
	add(a, "GET /api/v1/runs/{id}/log", "get-log", "Get what the executors printed", 0, s.logOf)
	add(a, "POST /api/v1/runs/{id}/profile", "profile-run", "Take a profile of an executor", 0, s.profile)
	add(a, "GET /api/v1/runs/{id}/export", "export-run", "Get a run that is over as an archive", 0, s.export)
	add(a, "POST /api/v1/runs/import", "import-run", "Keep the run of an archive", http.StatusCreated, s.importRun)
	add(a, "POST /api/v1/stop-all", "stop-all", "Cancel the run that is at work, and all that wait if that is asked", 0, s.stopAll)
	add(a, "GET /api/v1/events", "stream-events", "Follow what happens, as a stream of server-sent events", 0, s.events)

	add(a, "GET /api/v1/agents", "list-agents", "List agents and how they are", 0, s.agents)
	add(a, "DELETE /api/v1/agents/{id}", "revoke-agent", "Refuse an agent from now on", 0, s.revokeAgent)
	add(a, "GET /api/v1/join-tokens", "list-join-tokens", "List join tokens", 0, s.joinTokens)
	add(a, "POST /api/v1/join-tokens", "create-join-token", "Make a token for one agent", http.StatusCreated, s.newJoinToken)
}

// streamed are the types of answers that are not one value of JSON.
var streamed = map[string][]string{
	"get-report":    {"application/json", "text/csv", "application/xml", "text/markdown", "text/html"},
	"get-log":       {"text/plain"},
	"profile-run":   {"application/octet-stream"},
	"export-run":    {archiveType},
	"stream-events": {"text/event-stream"},
	"get-series":    {"application/json"},
}

// maxKey is how long an idempotency key may be: see keyForm.
var maxKey = 128

// add registers an operation; status 0 is 200, or 204 without a body.
func add[I, O any](a huma.API, pattern, id, summary string, status int, h func(context.Context, *I) (*O, error)) {
	what, ok := rules[pattern]
	if !ok {
		panic("api: " + pattern + " has no rule")
	}
	method, path, _ := strings.Cut(pattern, " ")
	op := huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary, DefaultStatus: status,
		Tags:         []string{strings.Split(path, "/")[3]},
		MaxBodyBytes: -1, BodyReadTimeout: -1, // the guard has read it
		Errors: []int{http.StatusBadRequest, http.StatusForbidden, http.StatusMisdirectedRequest},
	}
	need := func(when bool, status ...int) {
		if when {
			op.Errors = append(op.Errors, status...)
		}
	}
	need(what.role != "", http.StatusUnauthorized)
	need(strings.Contains(path, "{id}") || id == "stream-events", http.StatusNotFound)
	need(what.audit != "", http.StatusConflict)
	if what.archive > 0 {
		op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{archiveType: {Schema: &huma.Schema{Type: "string", Format: "binary"}}}}
	}
	need(what.archive > 0, http.StatusUnprocessableEntity)
	need(what.body+what.archive > 0, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	need(method == http.MethodPut && strings.Contains(path, "{id}") || method == http.MethodPatch, http.StatusPreconditionFailed, http.StatusPreconditionRequired)
	need(slices.Contains([]string{"login", "setup", "change-password"}, id), http.StatusUnauthorized, http.StatusTooManyRequests)
	need(what.endless || what.body > smallBody, http.StatusServiceUnavailable)
	if what.role != "" {
		op.Description = fmt.Sprintf("For the role %s and those above.", what.role)
		op.Security = []map[string][]string{{"token": {}}, {"session": {}}}
	}
	if what.idempotent {
		op.Description += " With a header Idempotency-Key it is done once, however often it is asked for within 24 hours."
		op.Parameters = append(op.Parameters, &huma.Param{Name: "Idempotency-Key", In: "header", Schema: &huma.Schema{Type: "string", MaxLength: &maxKey}})
	}
	if kinds := streamed[id]; kinds != nil {
		content := map[string]*huma.MediaType{}
		for _, t := range kinds {
			content[t] = &huma.MediaType{Schema: &huma.Schema{Type: "string"}}
		}
		schemas := a.OpenAPI().Components.Schemas
		switch id {
		case "get-series":
			content[kinds[0]].Schema = schemas.Schema(reflect.TypeFor[types.Series](), true, "")
		case "stream-events": // of the data of each
			content[kinds[0]].Schema = schemas.Schema(reflect.TypeFor[types.Event](), true, "")
		}
		op.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: content}}
	}
	huma.Register(a, op, h)
}
