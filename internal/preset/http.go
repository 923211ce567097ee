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
	Targets     []Target // taken in turn, over all connections
	Connections int
	Duration    time.Duration // 0: Requests decides
	Requests    int           // over all connections; 0: Duration decides
	Warmup      time.Duration // before Duration
	Stages      []scenario.Rate
	Poisson     bool // of Stages, as is Drop
	Drop        bool
	Data        *Data // nil: none
	Literal     bool  // Targets are no templates
	Client      Client
}

// Client are the options of each connection's client.
type Client struct {
	Timeout  time.Duration // of a request
	Insecure bool          // any server certificate will do
}

func (c Client) options() http.Options {
	return http.Options{MaxConns: 1, Timeout: c.Timeout, InsecureSkipVerify: c.Insecure}
}

// Vus gives the scenario of the options.
func (o HTTP) Vus() (scenario.Vus, error) {
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
	requests, err := o.requests()
	if err != nil {
		return nil, err
	}
	if o.Data != nil {
		requests.feeder = o.Data.feeder()
	}
	return scenario.Vus{{
		Name: "http",
		Nu:   o.Connections,
		Load: load,
		Setup: func(ctx context.Context) (context.Context, error) {
			return ctx, o.Data.enough(ctx, requests.feeder, o.Connections)
		},
		Start: func(ctx context.Context, vui int) (scenario.User, error) {
			client, err := http.NewHttpClient(ctx, "http", o.Client.options())
			if err != nil {
				return nil, err
			}
			u := httpUser{client: client, request: requests.all[0].Request}
			if len(requests.all) == 1 && !requests.all[0].changes() && o.Data == nil {
				return &u, nil
			}
			return newChangingUser(ctx, u, vui, requests), nil
		},
	}}, nil
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
