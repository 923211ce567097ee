package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// small is a Master that has states and events, and runs nothing.
type small struct {
	mu           sync.Mutex
	applications map[string]*run.Application
	runs         []*run.Order // in the order of their numbers
	transitions  map[string][]run.Transition
	events       []*Event
	dropped      uint64        // events up to this number are no longer stored
	changed      chan struct{} // closed and made anew with each event
	agents       []Agent
	tokens       []run.JoinToken
	log, second  string      // of two executors of all runs
	logMore      chan string // what a log that is followed says after it
	intervals    []run.Interval
	seriesBreaks error // what Series fails with after its intervals
	ready        error
	broken       error // what Runs fails with
	submitted    []Submission
	controls     []event.Change
}

func newSmall() *small {
	return &small{applications: map[string]*run.Application{}, transitions: map[string][]run.Transition{}, changed: make(chan struct{}), logMore: make(chan string)}
}

func (m *small) Submit(_ context.Context, s Submission) (*run.Order, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.Options.Guards.ErrorRate > 1 {
		return nil, fmt.Errorf("submit: %w", &run.InputError{Field: "options.guards.error_rate", Text: "is above 1"})
	}
	a := m.applications[s.Application]
	if s.Application == "" {
		a = &run.Application{ID: auth.NewID(), Name: s.Name, Tags: s.Tags, Owner: s.Owner, Version: 1, Source: s.Source}
		m.applications[a.ID] = a
	} else if a == nil {
		return nil, run.ErrNotFound
	}
	m.submitted = append(m.submitted, s)
	o := &run.Order{ID: run.NewID(time.Now()), Number: int64(len(m.runs) + 1), Application: a.ID, Name: a.Name, Owner: s.Owner, State: run.Queued, Version: 1, Created: time.Now().UTC(), Options: s.Options}
	m.runs = append(m.runs, o)
	m.transitions[o.ID] = []run.Transition{{Run: o.ID, Version: 1, To: run.Queued, By: s.Owner, At: o.Created}}
	c := *o
	return &c, nil
}

func (m *small) Rerun(ctx context.Context, id, owner string) (*run.Order, error) {
	o, err := m.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	a := m.applications[o.Application]
	m.mu.Unlock()
	if a == nil {
		return nil, fmt.Errorf("%w: it has no source", run.ErrConflict)
	}
	return m.Submit(ctx, Submission{Application: o.Application, Options: o.Options, Owner: owner})
}

func (m *small) find(id string) (*run.Order, error) {
	for _, o := range m.runs {
		if o.ID == id {
			return o, nil
		}
	}
	return nil, fmt.Errorf("run %s: %w", id, run.ErrNotFound)
}

func (m *small) Run(_ context.Context, id string) (*run.Order, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, err := m.find(id)
	if err != nil {
		return nil, err
	}
	c := *o
	return &c, nil
}

func (m *small) Runs(_ context.Context, f run.Filter) (page []run.Order, next string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return nil, "", m.broken
	}
	for _, o := range slices.Backward(m.runs) {
		if f.After != "" && strconv.FormatInt(o.Number, 10) >= f.After || f.State != "" && o.State != f.State || f.Owner != "" && o.Owner != f.Owner || !strings.Contains(o.Name, f.Text) {
			continue
		}
		if len(page) == f.Limit {
			return page, strconv.FormatInt(page[len(page)-1].Number, 10), nil
		}
		page = append(page, *o)
	}
	return page, "", nil
}

func (m *small) Transitions(_ context.Context, id string) ([]run.Transition, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.find(id)
	return m.transitions[id], err
}

// move changes the state of a run and emits an event.
func (m *small) move(id string, to run.State, by string) error {
	o, err := m.find(id)
	if err != nil {
		return err
	}
	if !o.State.May(to) {
		return fmt.Errorf("run %s is %s: %w", id, o.State, run.ErrConflict)
	}
	m.transitions[id] = append(m.transitions[id], run.Transition{Run: id, Version: o.Version + 1, From: o.State, To: to, By: by, At: time.Now().UTC()})
	o.State = to
	o.Version++
	m.emit(id, event.Event{Kind: event.State, Time: time.Now().UTC(), State: to, Run: id})
	return nil
}

func (m *small) Stop(_ context.Context, id, by string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.move(id, run.Stopping, by)
}

func (m *small) Cancel(_ context.Context, id, by string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.move(id, run.Cancelled, by)
}

func (m *small) StopAll(_ context.Context, queued bool, by string) (ids []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range m.runs {
		if o.State.Active() || queued && o.State == run.Queued {
			ids = append(ids, o.ID)
			err = errors.Join(err, m.move(o.ID, run.Cancelled, by))
		}
	}
	return ids, err
}

func (m *small) Control(_ context.Context, id string, c event.Change) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.find(id)
	m.controls = append(m.controls, c)
	return err
}

func (m *small) Delete(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, err := m.find(id)
	if err != nil {
		return err
	}
	if !o.State.Final() {
		return fmt.Errorf("run %s is %s: %w", id, o.State, run.ErrConflict)
	}
	m.runs = slices.DeleteFunc(m.runs, func(x *run.Order) bool { return x == o })
	return nil
}

func (m *small) Application(_ context.Context, id string) (*run.Application, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a := m.applications[id]; a != nil {
		c := *a
		return &c, nil
	}
	return nil, run.ErrNotFound
}

func (m *small) Applications(_ context.Context, f run.Filter) (page []run.Application, next string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.applications {
		if strings.Contains(a.Name, f.Text) && (f.Tag == "" || slices.Contains(a.Tags, f.Tag)) {
			c := *a
			c.Source = run.Source{}
			page = append(page, c)
		}
	}
	return page, "", nil
}

func (m *small) PutApplication(_ context.Context, a *run.Application) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.ID == "" {
		a.ID = auth.NewID()
	} else if m.applications[a.ID].Version != a.Version {
		return run.ErrConflict
	}
	a.Version++
	c := *a
	m.applications[a.ID] = &c
	return nil
}

func (m *small) DeleteApplication(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.applications[id] == nil {
		return run.ErrNotFound
	}
	delete(m.applications, id)
	return nil
}

func (m *small) Agents(context.Context) ([]Agent, error) { return m.agents, nil }

func (m *small) RevokeAgent(_ context.Context, id, _ string) error {
	if !slices.ContainsFunc(m.agents, func(a Agent) bool { return a.ID == id }) {
		return run.ErrNotFound
	}
	return nil
}

func (m *small) JoinToken(_ context.Context, life time.Duration, by string) (*run.JoinToken, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now().UTC()
	m.tokens = append(m.tokens, run.JoinToken{ID: auth.NewID(), Created: now, Expires: now.Add(life), By: by})
	return &m.tokens[len(m.tokens)-1], "join-text", nil
}

func (m *small) JoinTokens(context.Context) ([]run.JoinToken, error) { return m.tokens, nil }
func (m *small) Ready(context.Context) error                         { return m.ready }
func (m *small) Figures(context.Context) (Figures, error) {
	return Figures{Queued: 3, Agents: len(m.agents), Batches: 7}, nil
}

var oneAgent = Agent{
	Agent: run.Agent{ID: "agent1", Name: "host1", Key: "U123", Joined: time.Unix(1, 0).UTC()}, State: "ready", Offset: time.Millisecond,
	Beat: &agentpb.Beat{Agent: "agent1", Hello: &agentpb.Hello{Os: "linux", Cpus: 4}, Host: &agentpb.Host{Load1: 0.5}, Processes: []*agentpb.Process{{Pid: 7}}},
}
