// Users log in, look at their cart, think, and order. docs/tutorial.md explains it line by line.
//
//	go run -C examples ./login/api &
//	gobench run examples/login/scenario.go --duration 20s
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/gobench-io/gobench/clients/http"
	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/scenario"
)

var url = scenario.Param("url", "http://127.0.0.1:8090", "the shop's API")

// export returns the load: 20 users, who begin again until the run is over.
func export() scenario.Vus {
	return scenario.Vus{{Name: "buyer", Nu: 20, Rate: 10, Load: scenario.Loop(20 * time.Second), Start: buyer}}
}

// thresholds returns what must hold, so that the run ends with status 0.
func thresholds() scenario.Thresholds {
	return scenario.Thresholds{
		"shop.latency p95 < 200ms",
		"shop.http_fail rate < 1%",
		`check "the cart has items" rate > 99%`,
	}
}

// buyer makes a user: a client, and the function that is one visit.
func buyer(ctx context.Context, vui int) (scenario.User, error) {
	client, err := http.NewHttpClient(ctx, "shop")
	if err != nil {
		return nil, err
	}
	return scenario.Iterate(func(ctx context.Context) error { return visit(ctx, client, vui) }), nil
}

// visit logs in, and uses the token of that answer for what follows.
func visit(ctx context.Context, client http.HttpClient, vui int) error {
	var session struct{ Token string }
	r, err := client.Do(ctx, http.Request{Method: "POST", URL: *url + "/login", Name: "login",
		Body: fmt.Appendf(nil, `{"user": "user-%d", "password": "secret"}`, vui)})
	if err == nil {
		err = r.JSON(&session)
	}
	if err != nil {
		return err
	}
	headers := map[string]string{"Authorization": "Bearer " + session.Token}

	var cart struct{ Items []string }
	r, err = client.Do(ctx, http.Request{URL: *url + "/cart", Headers: headers, Name: "cart"})
	if err == nil {
		err = r.JSON(&cart)
	}
	if err != nil {
		return err
	}
	executor.Check(ctx, "the cart has items", len(cart.Items) > 0)

	if err := executor.Think(ctx, 500*time.Millisecond, 2*time.Second); err != nil {
		return err
	}
	_, err = client.Do(ctx, http.Request{Method: "POST", URL: *url + "/orders", Headers: headers, Name: "order"})
	return err
}
