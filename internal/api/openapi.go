package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/version"
)

// Document returns the OpenAPI 3.1 document of the API, indented.
func Document() []byte {
	return new(Server).describe(unserved{})()
}

// unserved is an adapter for a document of routes that are not served.
type unserved struct{}

func (unserved) Handle(*huma.Operation, func(huma.Context))       {}
func (unserved) ServeHTTP(w http.ResponseWriter, r *http.Request) {}

// register adds all routes to the server's mux, each behind its guard, and sets document.
// It must be called once, before the server is used.
func (s *Server) register() {
	g := guarded{s, map[string]*route{}}
	for i := range routes {
		rt := &routes[i]
		g.routes[rt.pattern] = rt
		if rt.handler.plain != nil {
			g.HandleFunc(rt.pattern, func(w http.ResponseWriter, r *http.Request) { rt.handler.plain(s, w, r) })
		}
	}
	s.document = s.describe(humago.NewAdapter(g, ""))
}

// guarded is a mux that puts the guard of its route before each handler. huma registers
// the operations with it.
type guarded struct {
	*Server
	routes map[string]*route
}

func (g guarded) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	g.mux.HandleFunc(pattern, g.guard(g.routes[pattern], h))
}

// describe registers the operations with an adapter and returns a function that returns
// their OpenAPI document, indented. The first call of that function takes as long as the
// rest of a master's start; later ones return the same bytes. It may be called
// concurrently.
func (s *Server) describe(a huma.Adapter) func() []byte {
	config := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "gobench", Version: version.Version,
				Description: "The API of a gobench master. docs/http-api.md describes its use.",
			},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"token":   {Type: "http", Scheme: "bearer", Description: "an API token: gbt_ID_SECRET"},
					"session": {Type: "apiKey", In: "cookie", Name: "gobench", Description: "set by a login; over TLS its name is __Host-gobench"},
				},
			},
		},
		Formats:                      map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{completeProblem},
	}
	api := huma.NewAPI(config, a)
	// huma's base64 has at least one byte; a file may be empty.
	schemas := api.OpenAPI().Components.Schemas
	data := schemas.SchemaFromRef(schemas.Schema(reflect.TypeFor[run.File](), true, "").Ref).Properties["data"]
	data.ContentEncoding, data.Nullable, data.Description = "", true, "base64"
	for _, t := range []reflect.Type{reflect.TypeFor[run.Record](), reflect.TypeFor[run.Metric]()} {
		of := schemas.SchemaFromRef(schemas.Schema(t, true, "").Ref).Properties
		for _, q := range run.QuantileNames { // run.Quantile; huma leaves out those of sizes
			for _, name := range []string{q.Name, q.Name + "(ms)"} {
				if p := of[name]; p != nil {
					p.Nullable = true
				}
			}
		}
	}
	for i := range routes {
		if rt := &routes[i]; rt.handler.register != nil {
			rt.handler.register(s, api, rt.operation(schemas), rt)
		}
	}
	return sync.OnceValue(func() []byte {
		b, err := json.MarshalIndent(api.OpenAPI(), "", " ")
		if err != nil {
			panic(err) // of constants
		}
		return append(bytes.TrimSpace(b), '\n')
	})
}

// openAPI serves the document.
func (s *Server) openAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/openapi+json")
	_, _ = w.Write(s.document())
}

// completeProblem is a huma.Transformer that adds the request's id and path to a copy of a
// problem, and its headers to the answer. It returns other values unchanged.
func completeProblem(ctx huma.Context, _ string, v any) (any, error) {
	p, ok := v.(*problem)
	if !ok {
		return v, nil
	}
	for name, values := range p.GetHeaders() {
		ctx.SetHeader(name, values[0])
	}
	return p.complete(requestOf(ctx.Context())), nil
}

// maxKey is how long an idempotency key may be: see keyForm.
var maxKey = 128

// operation describes a route for the document. It adds the schema of the route's content to
// schemas. It panics if the path is not below /api/v1/.
func (rt *route) operation(schemas huma.Registry) huma.Operation {
	method, path, _ := strings.Cut(rt.pattern, " ")
	op := huma.Operation{
		OperationID: rt.id, Method: method, Path: path, Summary: rt.summary, DefaultStatus: rt.status,
		Tags:         []string{strings.Split(path, "/")[3]},
		MaxBodyBytes: -1, BodyReadTimeout: -1, // the guard has read it
		Errors: rt.statuses(),
	}
	if rt.role != "" {
		op.Description = fmt.Sprintf("For the role %s and those above.", rt.role)
		op.Security = []map[string][]string{{"token": {}}, {"session": {}}}
	}
	if rt.idempotent {
		op.Description += " With a header Idempotency-Key, requests that are repeated within 24 hours have the effect of one."
		op.Parameters = append(op.Parameters, &huma.Param{Name: "Idempotency-Key", In: "header", Schema: &huma.Schema{Type: "string", MaxLength: &maxKey}})
	}
	if rt.archive > 0 {
		op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{archiveType: {Schema: &huma.Schema{Type: "string", Format: "binary"}}}}
	}
	if rt.content != nil {
		content := map[string]*huma.MediaType{}
		for _, media := range rt.content {
			schema := &huma.Schema{Type: "string"}
			if rt.schema != nil && media != "text/plain" {
				schema = schemas.Schema(rt.schema, true, "")
			}
			content[media] = &huma.MediaType{Schema: schema}
		}
		op.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: content}}
	}
	return op
}

// statuses returns those of the problems that a route may answer, for the document. They are
// not sorted, and one may appear twice.
func (rt *route) statuses() []int {
	all := append([]int{http.StatusBadRequest, http.StatusForbidden, http.StatusMisdirectedRequest}, rt.errors...)
	add := func(when bool, status ...int) {
		if when {
			all = append(all, status...)
		}
	}
	method, path, _ := strings.Cut(rt.pattern, " ")
	byID := strings.Contains(path, "{id}")
	add(rt.role != "", http.StatusUnauthorized)
	add(byID, http.StatusNotFound)
	add(rt.audit != "", http.StatusConflict)
	add(rt.archive > 0, http.StatusUnprocessableEntity)
	add(rt.body+rt.archive > 0, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	add(method == http.MethodPut && byID || method == http.MethodPatch, http.StatusPreconditionFailed, http.StatusPreconditionRequired)
	add(rt.endless || rt.body > smallBody, http.StatusServiceUnavailable)
	return all
}
