package api

import (
	"context"
	"fmt"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
)

// emit adds an event. The caller must hold m.mu.
func (m *small) emit(id string, e event.Event) {
	m.events = append(m.events, &Event{Number: uint64(len(m.events) + 1), Run: id, Event: e})
	close(m.changed)
	m.changed = make(chan struct{})
}

// interval emits an interval with totals.
func (m *small) interval(id string, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	count := int64(n)
	m.emit(id, event.Event{
		Kind: event.Interval, Time: time.Unix(int64(n), 0).UTC(), Verdict: run.Valid,
		Interval: &run.Interval{From: float64(n), Seconds: 1, Metrics: map[string]run.Record{"x": {Count: &count}}},
		Totals: func() event.Totals {
			return event.Totals{Metrics: []run.Metric{{Title: "x", Type: "counter", Record: run.Record{Count: &count}}}, Verdict: "VALID"}
		},
	})
}

func (m *small) Events(ctx context.Context, id string, after uint64) (<-chan *Event, error) {
	m.mu.Lock()
	dropped := m.dropped
	m.mu.Unlock()
	if after > 0 && after < dropped {
		return nil, fmt.Errorf("events: %w", run.ErrTooOld)
	}
	after = max(after, dropped)
	out := make(chan *Event)
	go func() {
		defer close(out)
		for n := after; ; {
			m.mu.Lock()
			fresh, changed := m.events[min(n, uint64(len(m.events))):], m.changed
			m.mu.Unlock()
			for _, e := range fresh {
				n = e.Number
				if id != "" && e.Run != id {
					continue
				}
				select {
				case out <- e:
				case <-ctx.Done():
					return
				}
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}
