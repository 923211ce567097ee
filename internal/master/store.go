package master

import (
	"context"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// Store keeps what a master knows. All its methods may be called at once by any
// goroutine. An error wraps run.ErrNotFound where there is no such thing, and
// run.ErrConflict where it has changed meanwhile or is there already.
type Store interface {
	// PutApplication keeps a new application (Version 0), or a changed one whose Version
	// is the one that is kept. It sets Version.
	PutApplication(ctx context.Context, a *run.Application) error
	Application(ctx context.Context, id string) (*run.Application, error)
	// Applications gives a page without sources, and the cursor of the next page.
	Applications(ctx context.Context, f run.Filter) (page []run.Application, next string, err error)
	// DeleteApplication deletes one that no run refers to any more, or with its runs.
	DeleteApplication(ctx context.Context, id string) error

	// CreateRun keeps a new queued run, its source as it then is, and sets its Number and
	// Version.
	CreateRun(ctx context.Context, o *run.Order, source run.Source) error
	Run(ctx context.Context, id string) (*run.Order, error)
	RunSource(ctx context.Context, id string) (run.Source, error)
	Runs(ctx context.Context, f run.Filter) (page []run.Order, next string, err error)
	// Unfinished gives all runs that are not final, in the order of their numbers.
	Unfinished(ctx context.Context) ([]run.Order, error)
	// Transition moves run id from the state that has this version on: run.ErrConflict when
	// its state is another by now, or the step is not one that run.State.May allows. A run
	// becomes active only when no other one is.
	Transition(ctx context.Context, id string, version int64, to run.State, cause, by string, at time.Time) (*run.Order, error)
	Transitions(ctx context.Context, id string) ([]run.Transition, error)
	// DeleteRun deletes a final run with all that belongs to it.
	DeleteRun(ctx context.Context, id string) error

	// ImportRun keeps a run that is over, with its result and what intakes hands to take:
	// all of it or nothing. It sets Number and Version: run.ErrConflict when there is such a
	// run. intakes may be called more than once.
	ImportRun(ctx context.Context, o *run.Order, r *run.Result, by string, intakes func(take func(*run.Intake) error) error) error

	// PutResult keeps the result of a run, in the place of an earlier one.
	PutResult(ctx context.Context, r *run.Result) error
	Result(ctx context.Context, id string) (*run.Result, error)

	// Take keeps an intake, whole or not at all. A batch whose key is there already makes
	// it fail with a *run.TakenError.
	Take(ctx context.Context, in *run.Intake) error
	// Taken gives what Take has kept of a run: of each executor and of the whole.
	Taken(ctx context.Context, id string) (sources []run.SourceState, totals []byte, err error)
	// Series calls each with the parts of a series in the order of their time. Parts of the
	// same time follow each other. It chooses the finest step that is there for the whole
	// range and gives no more than about the points asked for.
	Series(ctx context.Context, q run.SeriesQuery, each func(run.SeriesPart) error) error

	// Broken is why nothing can be kept any more until the store is opened anew; nil: it can.
	Broken() error
	// Maintain folds old series, deletes what need not be kept and tidies up; it is called
	// every minute.
	Maintain(ctx context.Context) error

	PutAgent(ctx context.Context, a *run.Agent) error
	Agent(ctx context.Context, id string) (*run.Agent, error)
	Agents(ctx context.Context) ([]run.Agent, error)

	PutJoinToken(ctx context.Context, t *run.JoinToken) error
	// SpendJoinToken marks a token as spent by an agent: run.ErrNotFound, or
	// run.ErrConflict when it is spent or has expired.
	SpendJoinToken(ctx context.Context, id string, hash []byte, agent string, at time.Time) error
	JoinTokens(ctx context.Context) ([]run.JoinToken, error)

	// Setting gives a value that the master keeps for itself, as its keys: nil when there
	// is none. PutSetting keeps one.
	Setting(ctx context.Context, name string) ([]byte, error)
	PutSetting(ctx context.Context, name string, value []byte) error
}
