package executor_test

import (
	"context"
	"errors"
	"io"
	"maps"
	nethttp "net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/gobench-io/gobench/clients/http"
	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/metrics"
)

// connector is a ClientConnector like those in tests of published scenarios.
type connector struct {
	mu     sync.Mutex
	types  map[string]metrics.MetricType
	counts map[string]int
	last   map[string]int64
	refuse error
}

func (c *connector) Setup(groups []metrics.Group) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, group := range groups {
		for _, graph := range group.Graphs {
			for _, m := range graph.Metrics {
				c.types[m.Title] = m.Type
			}
		}
	}
	return c.refuse
}

func (c *connector) Notify(title string, value int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[title]++
	c.last[title] = value
	return c.refuse
}

// connect makes a new connector receive all recordings. A test that calls it must not be
// parallel.
func connect(t *testing.T) *connector {
	c := &connector{types: map[string]metrics.MetricType{}, counts: map[string]int{}, last: map[string]int64{}}
	if err := executor.SetClientConnect(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = executor.SetClientConnect(nil) })
	return c
}

// What a scenario declares and records by name is passed only to the connector, as are its
// errors.
func TestSetClientConnect(t *testing.T) {
	c := connect(t)
	if err := executor.Setup(things("connected")); err != nil {
		t.Fatal(err)
	}
	for _, title := range []string{"connected.done", "connected.time", "connected.open", "connected.open", "connected.undeclared"} {
		if err := executor.Notify(title, -1); err != nil { // a counter of the first gobench could count down
			t.Error(err)
		}
	}
	if want := map[string]int{"connected.done": 1, "connected.time": 1, "connected.open": 2, "connected.undeclared": 1}; !maps.Equal(c.counts, want) {
		t.Errorf("notified %v, want %v", c.counts, want)
	}
	if want := map[string]metrics.MetricType{"connected.done": metrics.Counter, "connected.time": metrics.Histogram, "connected.open": metrics.Gauge}; !maps.Equal(c.types, want) {
		t.Errorf("set up %v, want %v", c.types, want)
	}
	c.refuse = errors.New("refused")
	if err := executor.Setup(things("other")); err != c.refuse {
		t.Errorf("Setup: %v, want the connector's error", err)
	}
	if err := executor.Notify("connected.done", 1); err != c.refuse {
		t.Errorf("Notify: %v, want the connector's error", err)
	}
	if err := executor.SetClientConnect(nil); err != nil {
		t.Fatal(err)
	}
	if err := executor.Notify("connected.done", 1); err == nil || err == c.refuse {
		t.Errorf("Notify after the connector: %v, want that the metric is not declared", err)
	}
}

// Meters pass on the new value of a gauge, and the value of everything else.
func TestConnectedMeters(t *testing.T) {
	c := connect(t)
	if err := executor.Setup(things("meters")); err != nil {
		t.Fatal(err)
	}
	find := func(title string) executor.Meter {
		m, err := executor.Find(title)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	done, open, time := find("meters.done"), find("meters.open"), find("meters.time")
	done.Add(2)
	open.Set(7)
	open.Add(-3)
	e := executor.From(context.Background()).Entry()
	e.Record(time, 100)
	e.Add(open, 1)
	e.Add(done, 3)
	e.Close()
	if want := map[string]int64{"meters.done": 3, "meters.open": 5, "meters.time": 100}; !maps.Equal(c.last, want) {
		t.Errorf("last values %v, want %v", c.last, want)
	}
	if _, err := executor.Find("meters.undeclared"); err == nil {
		t.Error("found a metric that was not declared")
	}
}

// A client made with a plain context records to the connector.
func TestConnectedClient(t *testing.T) {
	c := connect(t)
	s := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) { _, _ = io.WriteString(w, "ok") }))
	defer s.Close()
	client, err := http.NewHttpClient(t.Context(), "home")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for range 3 {
		if _, err := client.Get(t.Context(), s.URL, nil); err != nil {
			t.Fatal(err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.types["home.http_ok"] != metrics.Counter || c.counts["home.http_ok"] != 3 || c.counts["home.latency"] != 3 || c.last["home.latency"] <= 0 {
		t.Errorf("types %v, counts %v, last values %v", c.types, c.counts, c.last)
	}
}
