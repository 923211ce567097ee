package master

import (
	"context"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// Store stores the master's data. Its methods are safe for concurrent use. Each write is a
// transaction: after an error nothing of it is stored, unless the error interrupted the commit,
// as a lost connection to the database; then it is stored or not. Only a deletion may return an
// error after the run or application has gone for all readers. Errors wrap run.ErrNotFound for
// what does not exist, run.ErrConflict for what has changed meanwhile or exists already, and
// run.ErrFull if the disk is full. An invalid argument is a *run.InputError. What is
// returned belongs to the caller.
type Store interface {
	// PutApplication stores a new application (Version 0), or a changed one whose Version is
	// the stored one. It sets Version, unless it returns an error.
	PutApplication(ctx context.Context, a *run.Application) error
	// Application returns an application with its source.
	Application(ctx context.Context, id string) (*run.Application, error)
	// Applications returns a page without sources, the newest first, and the cursor of the
	// next page, "" after the last.
	Applications(ctx context.Context, f run.Filter) (page []run.Application, next string, err error)
	// DeleteApplication deletes an application with its runs. The error is run.ErrConflict if
	// one of them is not final.
	DeleteApplication(ctx context.Context, id string) error

	// CreateRun stores a new queued run with its source, and sets its Number and Version.
	CreateRun(ctx context.Context, o *run.Order, source run.Source) error
	// Run returns a run without its result.
	Run(ctx context.Context, id string) (*run.Order, error)
	// RunSource returns the source as it was when the run was created.
	RunSource(ctx context.Context, id string) (run.Source, error)
	// Runs returns a page of runs, the newest first, and the cursor of the next page, ""
	// after the last.
	Runs(ctx context.Context, f run.Filter) (page []run.Order, next string, err error)
	// Unfinished returns all runs that are not final, sorted by number.
	Unfinished(ctx context.Context) ([]run.Order, error)
	// Transition changes the state of a run that has this version, and returns the changed
	// run. The error is run.ErrConflict if the version is another, if run.State.May does not
	// allow the change, or if the run would become active while another one is.
	Transition(ctx context.Context, id string, version int64, to run.State, cause, by string, at time.Time) (*run.Order, error)
	// Transitions returns the changes of a run's state, the oldest first.
	Transitions(ctx context.Context, id string) ([]run.Transition, error)
	// RunIDs returns the ids of all runs, in no order.
	RunIDs(ctx context.Context) ([]string, error)
	// DeleteRun deletes a final run with all its data.
	DeleteRun(ctx context.Context, id string) error

	// ImportRun stores a final run, with its result and the intakes that intakes passes to
	// take. It sets Number and Version. The error is run.ErrConflict if the run exists.
	// intakes may be called more than once.
	ImportRun(ctx context.Context, o *run.Order, r *run.Result, by string, intakes func(take func(*run.Intake) error) error) error

	// PutResult stores the result of a run and replaces an earlier one.
	PutResult(ctx context.Context, r *run.Result) error
	// Result returns the stored result of a run. The error is run.ErrNotFound also if the
	// run exists and has no result yet.
	Result(ctx context.Context, id string) (*run.Result, error)

	// Take stores an intake. The error is a *run.TakenError if a batch's key is stored
	// already.
	Take(ctx context.Context, in *run.Intake) error
	// Taken returns what Take has stored of a run: for each executor, sorted by number, and
	// the totals. Both are nil if nothing was taken.
	Taken(ctx context.Context, id string) (sources []run.SourceState, totals []byte, err error)
	// Series calls each with the parts of a series in the order of their time. It chooses the
	// finest step that is stored for the whole range and yields about q.Points parts at most.
	// An error of each ends it and is returned.
	Series(ctx context.Context, q run.SeriesQuery, each func(run.SeriesPart) error) error

	// Broken returns the error after which nothing can be stored until the store is opened
	// again, or nil.
	Broken() error
	// Maintain folds series and deletes what is beyond the limits of retention. The master
	// calls it every minute.
	Maintain(ctx context.Context) error

	// PutAgent stores an agent and replaces one with the same id. The error is
	// run.ErrConflict if another agent has its key.
	PutAgent(ctx context.Context, a *run.Agent) error
	Agent(ctx context.Context, id string) (*run.Agent, error)
	// Agents returns all agents, revoked ones included, in the order in which they joined.
	Agents(ctx context.Context) ([]run.Agent, error)

	// PutJoinToken stores a new token.
	PutJoinToken(ctx context.Context, t *run.JoinToken) error
	// SpendJoinToken marks a token as spent by an agent. The error is run.ErrNotFound if id
	// or hash is wrong, and run.ErrConflict if the token is spent or has expired.
	SpendJoinToken(ctx context.Context, id string, hash []byte, agent string, at time.Time) error
	// JoinTokens returns all tokens, spent and expired ones included, in the order of
	// creation.
	JoinTokens(ctx context.Context) ([]run.JoinToken, error)

	// Setting returns a value that PutSetting has stored, such as the master's keys, or nil.
	Setting(ctx context.Context, name string) ([]byte, error)
	// PutSetting stores a value and replaces an earlier one of this name.
	PutSetting(ctx context.Context, name string, value []byte) error
}
