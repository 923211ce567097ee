package builtin

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/gobench-io/gobench/clients/http"
	"github.com/gobench-io/gobench/executor/scenario"
)

// HTTP holds the options of the built-in HTTP load: a number of users with a connection to each
// host, each sending requests one after the other, or serving requests that start on a schedule. It
// records under the prefix "http", and the requests of each of several targets by its URL, too.
type HTTP struct {
	Targets     []Target      // used in turn, over all connections
	Connections int           // users
	Duration    time.Duration // 0: Requests defines the end
	Requests    int           // over all connections; 0: Duration defines the end
	Warmup      time.Duration // before Duration
	Stages      []scenario.Rate
	Poisson     bool // of Stages, like Drop
	Drop        bool
	Data        *Data // nil: none
	Literal     bool  // Targets are not templates
	Threads     int   // that run the load's code at once; 0: the runtime chooses
	Client      Client
}

// Vus returns the scenario for the options, of one class "http". It returns an error for
// invalid options of Client, for invalid templates, and without Targets; it does not check
// the numbers. It opens no file or connection; with Threads it sets GOMAXPROCS, in the
// environment too.
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
	options, err := o.Client.options(len(hosts(o.Targets)))
	if err != nil {
		return nil, err
	}
	declared, err := http.NewHttpClient(context.Background(), "http") // so that thresholds on its metrics are checked before the load
	if err != nil {
		return nil, err
	}
	declared.Close()
	streams := max(o.Client.Streams, 1)
	var shared []http.HttpClient // of the users of each connection, if it has several
	if o.Threads > 0 {
		os.Setenv("GOMAXPROCS", strconv.Itoa(o.Threads)) // so that FitProcs keeps the number
		runtime.GOMAXPROCS(o.Threads)
	}
	return scenario.Vus{{
		Name: "http",
		Nu:   o.Connections * streams,
		Load: load,
		Setup: func(ctx context.Context) (context.Context, error) {
			for range o.Connections {
				if streams == 1 {
					break // each user has its own client
				}
				client, err := http.NewHttpClient(ctx, "http", options)
				if err != nil {
					return ctx, err
				}
				shared = append(shared, client)
			}
			return ctx, o.Data.enough(ctx, requests.feeder, o.Connections*streams)
		},
		Start: func(ctx context.Context, vui int) (scenario.User, error) {
			var client http.HttpClient
			var err error
			if len(shared) > 0 {
				n := int(numbersOf(ctx).Segment.Below(int64(vui))) // index of this user among those of this executor
				client = shared[n/streams%len(shared)]
			} else if client, err = http.NewHttpClient(ctx, "http", options); err != nil {
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

// httpUser is the user of one connection, to each host of the targets.
type httpUser struct {
	client  http.HttpClient
	request http.Request
}

// Iterate sends the request and reads the whole answer. An answer with any status is not an
// error.
func (u *httpUser) Iterate(ctx context.Context) error {
	_, err := u.client.Do(ctx, u.request)
	return err
}
