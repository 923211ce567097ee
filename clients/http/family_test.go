package http

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/load/conn"
	"github.com/gobench-io/gobench/internal/run"
)

// Tests the published titles, their units and places.
func TestDeclaration(t *testing.T) {
	t.Parallel()
	want := metrics.Group{Name: "HTTP (home)", Graphs: []metrics.Graph{
		{Title: "Responses", Unit: "N", Metrics: []metrics.Metric{
			{Title: "home.http_ok", Type: metrics.Counter},
			{Title: "home.http_fail", Type: metrics.Counter},
			{Title: "home.http_other_fail", Type: metrics.Counter},
		}},
		{Title: "Requests", Unit: "N", Metrics: []metrics.Metric{{Title: "home.begun", Type: metrics.Counter}, {Title: "home.resent", Type: metrics.Counter}}},
		{Title: "Latency", Unit: "ns", Metrics: []metrics.Metric{{Title: "home.latency", Type: metrics.Histogram}}},
		{Title: "Age of requests without an answer", Unit: "ns", Metrics: []metrics.Metric{{Title: "home.age", Type: metrics.Histogram}}},
		{Title: "Time to first byte", Unit: "ns", Metrics: []metrics.Metric{{Title: "home.ttfb", Type: metrics.Histogram}}},
		{Title: "Status", Unit: "N", Metrics: []metrics.Metric{
			{Title: "home.status.2xx", Type: metrics.Counter},
			{Title: "home.status.3xx", Type: metrics.Counter},
			{Title: "home.status.4xx", Type: metrics.Counter},
			{Title: "home.status.5xx", Type: metrics.Counter},
			{Title: "home.status.other", Type: metrics.Counter},
		}},
		{Title: "Traffic", Unit: "B", Metrics: []metrics.Metric{
			{Title: "home.bytes_in", Type: metrics.Counter},
			{Title: "home.bytes_out", Type: metrics.Counter},
		}},
		{Title: "Connections", Unit: "N", Metrics: []metrics.Metric{
			{Title: "home.connections_opened", Type: metrics.Counter},
			{Title: "home.connections_open", Type: metrics.Gauge},
		}},
		{Title: "Reuse", Unit: "N", Metrics: []metrics.Metric{{Title: "home.connections_reused", Type: metrics.Counter}}},
		{Title: "Errors", Unit: "N"},
		{Title: "Connecting", Unit: "ns", Metrics: []metrics.Metric{
			{Title: "home.connect", Type: metrics.Histogram},
			{Title: "home.dns", Type: metrics.Histogram},
			{Title: "home.tls", Type: metrics.Histogram},
		}},
		{Title: "TLS handshakes", Unit: "N", Metrics: []metrics.Metric{
			{Title: "home.tls_handshakes", Type: metrics.Counter},
			{Title: "home.tls_resumed", Type: metrics.Counter},
		}},
		{Title: "Recovery", Unit: "ns", Metrics: []metrics.Metric{{Title: "home.recovery", Type: metrics.Histogram}}},
	}}
	for _, class := range []string{"other", "refused", "reset", "timeout", "dns", "tls", "eof", "too_large",
		"protocol", "local_fd", "local_port", "proxy", "blocked", "canceled", "lost"} {
		g := &want.Graphs[slices.IndexFunc(want.Graphs, func(g metrics.Graph) bool { return g.Title == "Errors" })]
		g.Metrics = append(g.Metrics, metrics.Metric{Title: "home.error." + class, Type: metrics.Counter})
	}
	if got := declaration("home", new(meters)).group; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("declared\n%v\nwant\n%v", got, want)
	}
}

// What a dead executor had begun is counted by the class that clients declare for it.
func TestClassOfTheLost(t *testing.T) {
	if got := conn.Lost.String(); got != run.PartLost {
		t.Errorf("the class is %q, and %q is counted", got, run.PartLost)
	}
}
