// Five users, each sending ten requests a second: fifty a second altogether.
//
//	gobench run examples/http/scenario.go --duration 10s
//
// They ask http://localhost:8080 unless set otherwise:
//
//	gobench run examples/http/scenario.go --set url=http://localhost:9090 --duration 2m
package main

import (
	"context"
	"log"

	httpClient "github.com/gobench-io/gobench/clients/http"
	"github.com/gobench-io/gobench/dis"
	"github.com/gobench-io/gobench/executor/scenario"
)

// A parameter: --set url=... sets it, and --help lists it.
var url = scenario.Param("url", "http://localhost:8080", "where to send requests")

// export is what Gobench looks for in a scenario: the classes of its users.
func export() scenario.Vus {
	return scenario.Vus{
		{
			Nu:   5,    // this many users,
			Rate: 1000, // started at random moments, 1000 a second on average,
			Fu:   user, // each of them living this life
		},
	}
}

// user is the life of one user. Each runs in a goroutine of its own; vui is its
// number, from 0. It may use all of Go.
func user(ctx context.Context, vui int) {
	// The prefix names this client's metrics in the report: home.latency,
	// home.http_ok, home.http_fail, home.http_other_fail. Users share them.
	client, err := httpClient.NewHttpClient(ctx, "home")
	if err != nil {
		log.Printf("user %d: new client: %v", vui, err)
		return
	}

	// ctx is done when the run ends: after --duration, or on Ctrl-C.
	for {
		select {
		case <-ctx.Done():
			return
		default:
			// With go, a slow answer does not hold up the next request. The
			// client counts every outcome, so nothing is left to check here.
			go client.Get(ctx, *url, nil)
			dis.SleepRatePoisson(10) // random pauses, ten a second on average
		}
	}
}
