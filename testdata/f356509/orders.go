package main

import (
	"context"
	"errors"
	"time"

	"github.com/gobench-io/gobench/clients/http"
	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/executor/scenario"
)

func thresholds() scenario.Thresholds {
	return scenario.Thresholds{"shop.latency p99 < 1s", "orders.made count > 1000000"}
}

func export() scenario.Vus {
	return scenario.Vus{
		{Name: "browser", Nu: 4, Rate: 100, Load: scenario.Loop(3 * time.Second), Start: browser},
		{Name: "buyer", Nu: 2, Rate: 100, Load: scenario.Arrival{Stages: []scenario.Rate{{To: 40, Over: 3 * time.Second}}}, Start: browser},
	}
}

func browser(ctx context.Context, vui int) (scenario.User, error) {
	client, err := http.NewHttpClient(ctx, "shop")
	if err != nil {
		return nil, err
	}
	err = executor.Setup([]metrics.Group{{Name: "orders", Graphs: []metrics.Graph{
		{Title: "Orders", Unit: "orders", Metrics: []metrics.Metric{{Title: "orders.made", Type: metrics.Counter}}},
		{Title: "Basket", Unit: "items", Metrics: []metrics.Metric{{Title: "orders.basket", Type: metrics.Gauge}}},
		{Title: "Size", Unit: "B", Metrics: []metrics.Metric{{Title: "orders.size", Type: metrics.Histogram}}},
	}}})
	if err != nil {
		return nil, err
	}
	n := 0
	return scenario.Iterate(func(ctx context.Context) error {
		n++
		time.Sleep(5 * time.Millisecond)
		executor.Notify("orders.made", 1)
		executor.Notify("orders.basket", int64(n%7))
		executor.Notify("orders.size", int64(n%97*100))
		if n%50 == 0 {
			_ = client.GetIgnoreRes(ctx, "http://127.0.0.1:1/", nil)
			return errors.New("the basket was empty")
		}
		return client.GetIgnoreRes(ctx, "http://127.0.0.1:7070/", nil)
	}), err
}
