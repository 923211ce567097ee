// An open load whose iterations do nothing: the cost of starts alone.
package main

import (
	"context"
	"log"
	"strconv"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
)

var (
	rate    = scenario.Param("rate", "2000", "starts a second")
	seconds = scenario.Param("seconds", "10", "for how long")
)

// export returns a load of 50 users that do nothing, at the rate of the parameters.
func export() scenario.Vus {
	return scenario.Vus{{Name: "nothing", Nu: 50, Fu: nothing, Load: scenario.Arrival{
		Stages: []scenario.Rate{{To: number(*rate), Over: time.Duration(number(*seconds)) * time.Second}},
	}}}
}

func nothing(context.Context, int) {}

// number returns a parameter as a number; the process ends if it is not one.
func number(s string) float64 {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		log.Fatal(err)
	}
	return x
}
