package runner

import (
	"time"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/measure/health"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/run"
)

// generator records the samples of a health.Sampler about this machine and process. Each
// figure is a histogram with one value a second: its maximum over executors and time is the
// worst value. It is for one goroutine.
type generator struct {
	sampler *health.Sampler
	meters  [len(health.Metrics)]meter.Meter
	due     time.Duration // time of the next sample
}

// newGenerator declares the metrics and starts sampling. The caller must close the sampler.
// The error is that of declaring; nothing is left open then.
func newGenerator(r *meter.Registry) (*generator, error) {
	g := &generator{due: health.Every}
	if err := declareGenerator(r); err != nil {
		return nil, err
	}
	for i, m := range health.Metrics {
		var err error
		if g.meters[i], err = r.Find(health.Prefix + m.Name); err != nil {
			return nil, err
		}
	}
	g.sampler = health.NewSampler(r.InFlight)
	return g, nil
}

// declareGenerator declares the metrics of generators.
func declareGenerator(r *meter.Registry) error {
	group := metrics.Group{Name: health.Group}
	at, counts := map[string]int{}, map[string]run.Counts{}
	for _, m := range health.Metrics {
		i, ok := at[m.Graph]
		if !ok {
			i = len(group.Graphs)
			at[m.Graph] = i
			group.Graphs = append(group.Graphs, metrics.Graph{Title: m.Graph, Unit: m.Unit})
		}
		graph := &group.Graphs[i]
		graph.Metrics = append(graph.Metrics, metrics.Metric{Title: health.Prefix + m.Name, Type: metrics.Histogram})
		counts[health.Prefix+m.Name] = run.Counts{Role: run.Own, Part: m.Name}
	}
	return r.Declare([]metrics.Group{group}, counts)
}

// sample records this machine's health since the last sample, or newGenerator; at is the
// elapsed time of the load. It sets due to the next whole second.
func (g *generator) sample(at time.Duration) {
	g.sampler.Sample(func(m health.Metric, v int64) { g.meters[m].Record(v) })
	g.due = (at/health.Every + 1) * health.Every
}

// until waits for a time of the load, whose clock began at began, and samples at every second
// up to it; it then returns false. If done is closed first, it samples once more and returns
// true at once.
func (g *generator) until(to time.Duration, began time.Time, done <-chan struct{}) bool {
	for {
		at := min(to, g.due)
		timer := time.NewTimer(at - time.Since(began))
		select {
		case <-timer.C:
		case <-done:
			timer.Stop()
			g.sample(time.Since(began))
			return true
		}
		if at == g.due {
			g.sample(max(at, time.Since(began)))
		}
		if at == to {
			return false
		}
	}
}
