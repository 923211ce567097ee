package main

import (
	"context"

	"github.com/gobench-io/gobench/executor/scenario"
)

func export() scenario.Vus { return scenario.Vus{{Nu: 1, Fu: user}} }

func user(ctx context.Context, vui int) {
	var name string = vui
	_ = name
}
