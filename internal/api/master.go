package api

import (
	"context"
	"io"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// Master is what the API speaks for. All its methods may be called at once by any
// goroutine. An error wraps run.ErrNotFound, run.ErrConflict (the state does not allow
// it; its text says why) or a *run.InputError (a field of what was asked for is wrong).
type Master interface {
	// Submit queues a run of an application, or of a source of its own, which then becomes
	// an application.
	Submit(ctx context.Context, s Submission) (*run.Order, error)
	Run(ctx context.Context, id string) (*run.Order, error)
	Runs(ctx context.Context, f run.Filter) (page []run.Order, next string, err error)
	Transitions(ctx context.Context, id string) ([]run.Transition, error)
	// Stop ends a run's load and drains it; Cancel ends it at once, in any state. Both
	// return before that is done. Repeated, they change nothing.
	Stop(ctx context.Context, id, by string) error
	Cancel(ctx context.Context, id, by string) error
	// StopAll cancels the run that is active, and with queued true all that wait.
	StopAll(ctx context.Context, queued bool, by string) (ids []string, err error)
	Control(ctx context.Context, id string, c event.Change) error
	Delete(ctx context.Context, id string) error
	// Result gives the result as it stands; of a run that goes on, as far as it is known.
	Result(ctx context.Context, id string) (*run.Result, error)
	// Series gives a run's intervals, of all agents or of one.
	Series(ctx context.Context, q run.SeriesQuery, each func(run.Interval) error) error
	// Log opens the executors' output of a run from an offset on; with follow it goes on as
	// it comes, until the run is final.
	Log(ctx context.Context, id, agent string, offset int64, follow bool) (io.ReadCloser, error)
	// Export writes a run that is over as an archive, and Import keeps the run of one as
	// owner's: run.ErrArchive, when it is none.
	Export(ctx context.Context, id string, w io.Writer) error
	Import(ctx context.Context, archive io.Reader, owner string) (*run.Order, error)
	// Profile takes a profile of a run's executor on an agent while it goes on.
	Profile(ctx context.Context, id, agent, kind string, length time.Duration) (io.ReadCloser, error)

	// Events gives what happens from the event after one of number after on (0: what is
	// kept), of one run or of all (id empty), until ctx ends or the reader is too slow.
	// Each number is given once, in order. An event is that of all readers.
	Events(ctx context.Context, id string, after uint64) (<-chan *Event, error)

	Application(ctx context.Context, id string) (*run.Application, error)
	Applications(ctx context.Context, f run.Filter) (page []run.Application, next string, err error)
	PutApplication(ctx context.Context, a *run.Application) error
	DeleteApplication(ctx context.Context, id string) error

	// Agents gives those that have joined, and how they are.
	Agents(ctx context.Context) ([]Agent, error)
	// RevokeAgent has an agent's key refused from now on, and its connection cut.
	RevokeAgent(ctx context.Context, id, by string) error
	// JoinToken makes a token for one agent; text is shown once and not kept.
	JoinToken(ctx context.Context, life time.Duration, by string) (t *run.JoinToken, text string, err error)
	JoinTokens(ctx context.Context) ([]run.JoinToken, error)

	// Ready tells whether the master can take and run what is submitted, or why not.
	Ready(ctx context.Context) error
	Figures() Figures
}

// What a Master takes and gives. An Event's Totals may be called at any time, by several
// goroutines at once.
type (
	Submission = run.Submission
	Event      = event.Numbered
	Agent      = agentpb.Member
	Figures    = run.Figures
)
