// Users that each have one connection and pause for every milliseconds after each request;
// with every=0 each sends one request and keeps its connection idle.
package main

import (
	"context"
	"log"
	"strconv"
	"strings"
	"time"

	"github.com/gobench-io/gobench/clients/http"
	"github.com/gobench-io/gobench/executor/scenario"
)

var (
	url   = scenario.Param("url", "http://localhost:8080/", "what to ask")
	users = scenario.Param("users", "250", "how many connections")
	every = scenario.Param("every", "1000", "milliseconds that a user pauses after a request; 0: one request, then idle")
	ramp  = scenario.Param("ramp", "2000", "users that connect in a second")
	from  = scenario.Param("from", "127.0.0.1", "addresses that they connect from, with commas between them")
)

func export() scenario.Vus {
	return scenario.Vus{{Name: "http", Nu: number(*users), Rate: float64(number(*ramp)), Fu: user}}
}

// user is one user with one connection. With every=0 it sends one request and returns when
// ctx ends, else at most one pause later; failed requests do not end it. The process ends
// if the client can't be made.
func user(ctx context.Context, vui int) {
	client, err := http.NewHttpClient(ctx, "http", http.Options{MaxConns: 1, Sources: strings.Split(*from, ",")})
	if err != nil {
		log.Fatal(err)
	}
	if number(*every) == 0 {
		client.GetIgnoreRes(ctx, *url, nil)
		<-ctx.Done()
		return
	}
	pause := time.Duration(number(*every)) * time.Millisecond
	for ctx.Err() == nil {
		client.GetIgnoreRes(ctx, *url, nil)
		time.Sleep(pause)
	}
}

// number returns a parameter as a number; the process ends if it is not one.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		log.Fatal(err)
	}
	return n
}
