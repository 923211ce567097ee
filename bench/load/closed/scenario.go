// A closed loop of users that each request the url repeatedly or, if there is a body, post
// it there.
package main

import (
	"context"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/gobench-io/gobench/clients/http"
	"github.com/gobench-io/gobench/executor/scenario"
)

var (
	url     = scenario.Param("url", "http://localhost:8080/", "what to ask")
	users   = scenario.Param("users", "30", "how many ask")
	seconds = scenario.Param("seconds", "5", "for how long")
	call    = scenario.Param("call", "GetIgnoreRes", "the client's method: GetIgnoreRes or Get")
	body    = scenario.Param("body", "none", "a file to post instead, by PostIgnoreRes; none: to ask")
)

// export returns a closed loop of the parameters' users. The process ends if users or
// seconds is no number.
func export() scenario.Vus {
	return scenario.Vus{{Name: "http", Nu: number(*users), Load: scenario.Loop(time.Duration(number(*seconds)) * time.Second), Start: start}}
}

// start returns a user that requests the url, by Get or, unless the parameter call is that,
// by GetIgnoreRes, or posts the file body to it, once an iteration. A body that can't be
// read is an error.
func start(ctx context.Context, vui int) (scenario.User, error) {
	client, err := http.NewHttpClient(ctx, "http")
	if err != nil {
		return nil, err
	}
	if *body != "none" {
		file, err := os.ReadFile(*body)
		if err != nil {
			return nil, err
		}
		return scenario.Iterate(func(ctx context.Context) error { return client.PostIgnoreRes(ctx, *url, file, nil) }), nil
	}
	if *call == "Get" {
		return scenario.Iterate(func(ctx context.Context) error {
			_, err := client.Get(ctx, *url, nil)
			return err
		}), nil
	}
	return scenario.Iterate(func(ctx context.Context) error { return client.GetIgnoreRes(ctx, *url, nil) }), nil
}

// number returns a parameter as a number; the process ends if it is not one.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		log.Fatal(err)
	}
	return n
}
