package preset

import (
	"context"
	"time"

	"github.com/gobench-io/gobench/clients/http"
	"github.com/gobench-io/gobench/executor/scenario"
)

// HTTP are the options of the built-in HTTP load: so many connections, each sending
// one request after the other, or serving requests that start on a schedule. It
// records under the prefix "http".
type HTTP struct {
	URL         string
	Method      string
	Headers     map[string]string
	Body        []byte
	Connections int
	Duration    time.Duration // 0: Requests decides
	Requests    int           // over all connections; 0: Duration decides
	Warmup      time.Duration // before Duration
	Stages      []scenario.Rate
	Poisson     bool // of Stages, as is Drop
	Drop        bool
	Timeout     time.Duration // of a request
	Insecure    bool          // any server certificate will do
}

// Vus gives the scenario of the options.
func (o HTTP) Vus() scenario.Vus {
	load := scenario.Load(scenario.Loop(o.Warmup + o.Duration))
	switch {
	case len(o.Stages) > 0:
		stages := o.Stages
		if o.Warmup > 0 {
			stages = append([]scenario.Rate{{To: stages[0].To, Over: o.Warmup, Warmup: true}}, stages...)
		}
		load = scenario.Arrival{Stages: stages, Poisson: o.Poisson, Drop: o.Drop}
	case o.Requests > 0:
		load = scenario.Shared(o.Requests)
	}
	return scenario.Vus{{
		Name: "http",
		Nu:   o.Connections,
		Load: load,
		Start: func(ctx context.Context, vui int) (scenario.User, error) {
			client, err := http.NewHttpClient(ctx, "http", http.Options{MaxConns: 1, Timeout: o.Timeout, InsecureSkipVerify: o.Insecure})
			if err != nil {
				return nil, err
			}
			return &httpUser{client: client, request: http.Request{Method: o.Method, URL: o.URL, Headers: o.Headers, Body: o.Body, Discard: true}}, nil
		},
	}}
}

// httpUser is one connection's user.
type httpUser struct {
	client  http.HttpClient
	request http.Request
}

// Iterate sends the request and reads the whole answer.
func (u *httpUser) Iterate(ctx context.Context) error {
	_, err := u.client.Do(ctx, u.request)
	return err
}
