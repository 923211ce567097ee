package meter

import "github.com/gobench-io/gobench/executor/metrics"

// connection receives the declarations and recordings of a connected registry.
type connection struct {
	setup  func([]metrics.Group) error
	notify func(title string, value int64) error
}

// NewConnected returns a registry that counts failures and samples only: it passes each
// declaration to setup and each recording to notify, for a gauge its new value. Both must
// be safe for concurrent use and must not record to the same registry. Registry.Setup
// returns the error of setup, and Registry.Notify that of notify; other ways of recording
// ignore it. Negative values are passed on.
func NewConnected(setup func([]metrics.Group) error, notify func(title string, value int64) error) *Registry {
	r := New()
	r.to = &connection{setup, notify}
	r.declared.Store(&declared{to: r.to})
	return r
}

// set implements Record for a metric that is not counted in a shard. An error of notify is
// ignored.
func (m *metric) set(v int64) {
	m.gauge.Store(v)
	if m.kind == connected {
		_ = m.to.notify(m.title, v)
	}
}

// add implements Add for a metric that is not counted in a shard. An error of notify is
// ignored.
func (m *metric) add(n int64) {
	switch {
	case m.kind == gauge:
		m.gauge.Add(n)
	case m.isGauge:
		_ = m.to.notify(m.title, m.gauge.Add(n))
	default:
		_ = m.to.notify(m.title, n)
	}
}
