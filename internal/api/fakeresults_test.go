package api

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

func (m *small) Result(_ context.Context, id string) (*run.Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, err := m.find(id)
	if err != nil {
		return nil, err
	}
	return &run.Result{Format: run.Format, ID: id, Name: o.Name, State: o.State, Created: o.Created, Complete: true, Metrics: []run.Metric{}, Errors: []run.Failure{}}, nil
}

func (m *small) Series(_ context.Context, q run.SeriesQuery, each func(run.Interval) error) error {
	m.mu.Lock()
	intervals, breaks := m.intervals, m.seriesBreaks
	m.mu.Unlock()
	for _, i := range intervals {
		if i.From < q.From.Seconds() || q.To > 0 && i.From >= q.To.Seconds() {
			continue
		}
		if err := each(i); err != nil {
			return err
		}
	}
	return breaks
}

// has sets the intervals and the error of Series.
func (m *small) has(intervals []run.Interval, breaks error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.intervals, m.seriesBreaks = intervals, breaks
}

func (m *small) Log(ctx context.Context, q run.LogQuery, each func(*run.LogPiece) error) error {
	m.mu.Lock()
	all := []string{m.log, m.second}
	_, err := m.find(q.Run)
	m.mu.Unlock()
	if err != nil {
		return err
	}
	piece := func(i int, next int64, text string) error {
		return each(&run.LogPiece{Executor: fmt.Sprintf("a%d-000", i), Next: next, Several: all[1] != "", Data: []byte(text)})
	}
	const size = 1000
	for at := int64(0); at < int64(max(len(all[0]), len(all[1]))); at += size { // in turn
		for i, text := range all {
			from := max(at, q.Offset, q.After[fmt.Sprintf("a%d-000", i)])
			if to := min(at+size, int64(len(text))); from < to {
				if err := piece(i, to, text[from:to]); err != nil {
					return err
				}
			}
		}
	}
	for q.Follow {
		select {
		case s, ok := <-m.logMore:
			if !ok {
				return nil
			}
			if err := piece(0, int64(len(all[0])), s); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (m *small) Profile(_ context.Context, id, agent, kind string, length time.Duration) (io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.find(id); err != nil {
		return nil, err
	}
	return io.NopCloser(strings.NewReader(fmt.Sprintf("%s of %s for %s", kind, agent, length))), nil
}

// Export writes a text, and Import takes it.
func (m *small) Export(_ context.Context, id string, w io.Writer) error {
	_, err := fmt.Fprint(w, "archive of ", id)
	return err
}

func (m *small) Import(_ context.Context, archive io.Reader, owner string) (*run.Order, error) {
	b, err := io.ReadAll(archive)
	if err != nil {
		return nil, err
	}
	id, ok := strings.CutPrefix(string(b), "archive of ")
	if !ok {
		return nil, fmt.Errorf("%w: it begins otherwise", run.ErrArchive)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.find(id); err == nil {
		return nil, fmt.Errorf("%w: run %s is there already", run.ErrConflict, id)
	}
	o := &run.Order{ID: id, Owner: owner, State: run.Finished}
	m.runs = append(m.runs, o)
	return o, nil
}
