// An open load: requests start on a schedule, whatever the target does, and a
// request that finds no user free counts its wait. A step and a check in between.
//
//	gobench run examples/arrival/scenario.go --set url=http://localhost:8080 --set rate=500
package main

import (
	"context"
	"log"
	"strconv"
	"time"

	"github.com/gobench-io/gobench/clients/http"
	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/scenario"
)

var (
	url  = scenario.Param("url", "http://localhost:8080", "where to send requests")
	rate = scenario.Param("rate", "100", "visits a second at the top")
)

func export() scenario.Vus {
	top, err := strconv.ParseFloat(*rate, 64)
	if err != nil {
		log.Fatalf("--set rate=%s: want a number", *rate)
	}
	return scenario.Vus{{
		Name: "visitor",
		Nu:   50, // at most so many visits at once
		Load: scenario.Arrival{
			Poisson: true, // visitors do not know of each other
			Stages: []scenario.Rate{
				{To: top / 10, Over: 5 * time.Second, Warmup: true}, // not in the totals
				{To: top, Over: 10 * time.Second},                   // in a straight line
				{To: top, Over: 30 * time.Second},                   // and on
			},
		},
		Start: visitor,
	}}
}

// visitor makes one user; each has its own connection and keeps it.
func visitor(ctx context.Context, vui int) (scenario.User, error) {
	client, err := http.NewHttpClient(ctx, "home")
	if err != nil {
		return nil, err
	}
	return scenario.Iterate(func(ctx context.Context) error {
		return executor.Time(ctx, "visit", func() error {
			page, err := client.Get(ctx, *url, nil)
			if err == nil {
				executor.Check(ctx, "page is not empty", len(page) > 0)
			}
			return err
		})
	}), nil
}
