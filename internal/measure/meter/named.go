package meter

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/run"
)

// Named holds the meters of names that are declared on first use. Each use costs one map read,
// without a lock or an allocation. The zero value is empty; any number of goroutines may use it.
type Named[T any] struct {
	mu    sync.Mutex // held while storing
	known atomic.Pointer[map[string]T]
}

// Get returns name's meters; on first use it calls declare for them, one call at a time. It
// returns declare's error and stores nothing then, so that the next call tries again. name is
// stored.
func (n *Named[T]) Get(name string, declare func(name string) (T, error)) (T, error) {
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

// Has reports whether name's meters are known.
func (n *Named[T]) Has(name string) bool {
	_, ok := n.names()[name]
	return ok
}

// Len returns how many names are known.
func (n *Named[T]) Len() int { return len(n.names()) }

func (n *Named[T]) names() map[string]T {
	if known := n.known.Load(); known != nil {
		return *known
	}
	return nil
}

// One is a metric of a graph that DeclareGraph declares: its title, what it counts, and where its
// meter belongs.
type One struct {
	Title  string
	Counts run.Counts
	Meter  *Meter
}

// DeclareGraph declares a graph, without metrics so far, of a group with some metrics of one type,
// and stores their meters. The errors are those of Declare and Find.
func (r *Registry) DeclareGraph(group string, g metrics.Graph, t metrics.Type, all ...One) error {
	counts := map[string]run.Counts{}
	for _, m := range all {
		g.Metrics = append(g.Metrics, metrics.Metric{Title: m.Title, Type: t})
		counts[m.Title] = m.Counts
	}
	if err := r.Declare([]metrics.Group{{Name: group, Graphs: []metrics.Graph{g}}}, counts); err != nil {
		return err
	}
	for _, m := range all {
		var err error
		if *m.Meter, err = r.Find(m.Title); err != nil {
			return err
		}
	}
	return nil
}
