package api

import (
	"context"
	"io"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// Master is the master that the API serves. Its methods may be called by several goroutines
// at once. An error wraps run.ErrNotFound, run.ErrConflict (the state does not allow it;
// the text says why) or a *run.InputError (a field of the input is wrong). by and owner are
// names of users; a page comes with next, the cursor of the next page, empty after the
// last.
type Master interface {
	// Submit queues a run of an application, or of a source, which then becomes an
	// application, and returns the run.
	Submit(ctx context.Context, s Submission) (*run.Order, error)
	// Rerun queues a run with the source and the options of another one.
	Rerun(ctx context.Context, id, owner string) (*run.Order, error)
	Run(ctx context.Context, id string) (*run.Order, error)
	Runs(ctx context.Context, f run.Filter) (page []run.Order, next string, err error)
	Transitions(ctx context.Context, id string) ([]run.Transition, error)
	// Stop ends a run's load and waits for iterations under way; Cancel ends it at once, in
	// any state. Both return before the run has ended. Calling them again changes nothing.
	Stop(ctx context.Context, id, by string) error
	Cancel(ctx context.Context, id, by string) error
	// StopAll cancels the active run, and with queued true all queued ones. It returns the
	// ids of the runs that it cancelled, also with an error.
	StopAll(ctx context.Context, queued bool, by string) (ids []string, err error)
	// Control changes the load of the active run. Delete deletes a run that is not active,
	// with all its data.
	Control(ctx context.Context, id string, c event.Change) error
	Delete(ctx context.Context, id string) error
	// Result returns a run's result; if the run has not ended, the result so far.
	Result(ctx context.Context, id string) (*run.Result, error)
	// Series calls each with a run's intervals, of all agents or of one, in order. It returns
	// the first error that each returns.
	Series(ctx context.Context, q run.SeriesQuery, each func(run.Interval) error) error
	// Log calls each with the output of a run's executors, one after the other; with Follow
	// until the run is final. A piece is valid until each returns. It returns the first error
	// that each returns.
	Log(ctx context.Context, q run.LogQuery, each func(*run.LogPiece) error) error
	// Export writes a run that has ended as an archive; after an error w may have received
	// a part. Import stores the run of an archive as owner's, and returns run.ErrArchive if
	// it is not an archive of a run.
	Export(ctx context.Context, id string, w io.Writer) error
	Import(ctx context.Context, archive io.Reader, owner string) (*run.Order, error)
	// Profile takes a profile of a running executor on an agent (its id or name; empty: the
	// first one). The caller must close it.
	Profile(ctx context.Context, id, agent, kind string, length time.Duration) (io.ReadCloser, error)

	// Events returns a channel of the events after number after (0, or a number of a previous
	// process of the master: all that are stored), of one run or of all (id empty). Each event
	// comes once, in order of its number. Those of a run that is over end with event.Ended. The
	// channel is closed when ctx ends or the reader is too slow. Readers share an event and
	// must not change it.
	Events(ctx context.Context, id string, after uint64) (<-chan *Event, error)

	Application(ctx context.Context, id string) (*run.Application, error)
	Applications(ctx context.Context, f run.Filter) (page []run.Application, next string, err error)
	// PutApplication stores a new application (Version 0), or a changed one whose Version
	// is the stored one. It sets ID, Created, Changed and Version. DeleteApplication
	// deletes an application with its runs.
	PutApplication(ctx context.Context, a *run.Application) error
	DeleteApplication(ctx context.Context, id string) error

	// Agents returns the agents that have joined, with their state.
	Agents(ctx context.Context) ([]Agent, error)
	// RevokeAgent refuses an agent's key from now on and closes its connection.
	RevokeAgent(ctx context.Context, id, by string) error
	// JoinToken makes a token for one agent. text is its secret, which is not stored.
	JoinToken(ctx context.Context, life time.Duration, by string) (t *run.JoinToken, text string, err error)
	JoinTokens(ctx context.Context) ([]run.JoinToken, error)

	// Ready returns an error with the reason if the master cannot run what is submitted.
	Ready(ctx context.Context) error
	// Figures returns the master's own figures, for /metrics.
	Figures(ctx context.Context) (Figures, error)
}

// The types of Master. An Event's Totals may be called at any time, by several goroutines
// at once.
type (
	Submission = run.Submission
	Event      = event.Numbered
	Agent      = agentpb.Member
	Figures    = run.Figures
)
