package executor

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/run"
)

// named holds the meters of names that are declared on first use. Each use costs one map read,
// without a lock or an allocation.
type named[T any] struct {
	mu    sync.Mutex // held while storing
	known atomic.Pointer[map[string]T]
}

// get returns name's meters; on first use it calls declare for them, holding n.mu. It returns
// declare's error and stores nothing then, so that the next call tries again. Any number of
// goroutines may call it at once; name is stored.
func (n *named[T]) get(name string, declare func(name string) (T, error)) (T, error) {
	if m, ok := n.names()[name]; ok {
		return m, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if m, ok := n.names()[name]; ok {
		return m, nil
	}
	m, err := declare(name)
	if err != nil {
		return m, err
	}
	known := map[string]T{name: m}
	maps.Copy(known, n.names())
	n.known.Store(&known)
	return m, nil
}

// has reports whether name's meters are known, and len returns how many names are.
func (n *named[T]) has(name string) bool {
	_, ok := n.names()[name]
	return ok
}

func (n *named[T]) len() int { return len(n.names()) }

func (n *named[T]) names() map[string]T {
	if known := n.known.Load(); known != nil {
		return *known
	}
	return nil
}

// registryNames holds the names of one registry.
type registryNames struct {
	checks     named[checkMeters]
	steps      named[stepMeters]
	results    named[resultMeters]
	operations named[*Operations]
}

type namesKey struct{}

// names returns the names of r's registry, the same for all recorders of one registry.
func (r *Recorder) names() *registryNames {
	v, _ := r.Shared(namesKey{}, func() (any, error) { return new(registryNames), nil }) // it never fails
	return v.(*registryNames)
}

// namedMetric is a metric of a name: its title, what it counts, and where its meter belongs.
type namedMetric struct {
	title  string
	counts run.Counts
	meter  *meter.Meter
}

// declare declares a graph, without metrics so far, of a group with some metrics of one type,
// and stores their meters. The errors are those of Registry.Declare and Find.
func (r *Recorder) declare(group string, g metrics.Graph, t metrics.Type, all ...namedMetric) error {
	counts := map[string]run.Counts{}
	for _, m := range all {
		g.Metrics = append(g.Metrics, metrics.Metric{Title: m.title, Type: t})
		counts[m.title] = m.counts
	}
	if err := r.Registry.Declare([]metrics.Group{{Name: group, Graphs: []metrics.Graph{g}}}, counts); err != nil {
		return err
	}
	for _, m := range all {
		var err error
		if *m.meter, err = r.Find(m.title); err != nil {
			return err
		}
	}
	return nil
}
