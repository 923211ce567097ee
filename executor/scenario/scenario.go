// Package scenario has the types of a load test: plain data that describes which users there
// are and what each does. A scenario file defines
//
//	func export() scenario.Vus
//
// and gobench runs all its classes of users ([Vu]) at the same time.
package scenario

import (
	"context"
)

// VuFunc is what one user does. ctx ends when the run ends; clients made with it record into
// the run. vui is the user's number in its class, from 0, unique over all hosts of a run. A
// panic ends this user only, and is counted.
type VuFunc func(ctx context.Context, vui int)

// Vu is a class of virtual users. Exactly one of Fu, Start, Exec, Steps and Tasks is set.
type Vu struct {
	// Nu is the number of users of this class over all hosts: 1 to 10,000,000.
	Nu int
	// Rate is how many users start per second, on average, at most 10,000,000: the starts are
	// a Poisson process. 0 starts all users at once.
	Rate float64
	// Fu is what one user does. Without Load it is called once a user.
	Fu VuFunc

	// Name of the class in reports, at most 64 bytes; default: the name of its function. It
	// must be unique in a run.
	Name string
	// Load defines when iterations start; nil: one iteration a user.
	Load Load
	// Setup runs once in each executor process before the clock starts. The ctx that it
	// returns is the parent of every user's ctx; nil stands for the ctx that it received. An
	// error or a panic fails the run, and Stop is then not called.
	Setup func(context.Context) (context.Context, error)
	// Start creates one user, with its own client and state. It runs once a user and is not
	// timed. An error, or neither a user nor an error, counts as that user's failure, and the
	// user ends.
	Start func(ctx context.Context, vui int) (User, error)
	// Exec is a step with an optional preparation that is not timed; all users of the class
	// share it, and call it at once.
	Exec Executor
	// Steps are what each iteration does, in order, each timed by itself as step.NAME.time: a
	// login, then a search, then an order. The first that fails ends the iteration. All users
	// of the class share them.
	Steps []Step
	// Tasks are alternative iterations of a user. Each iteration is one of them, picked by
	// weight, independently of all other users.
	Tasks []Task
	// Stop runs once in each executor process, after the last user has ended or was given up.
	// Its ctx has the values of Setup's. It ends after 5 s (1 s if the run was cancelled), and
	// a Stop that has not returned by that time is left behind.
	Stop func(context.Context)
}

// Step is one of the steps of an iteration. Its time is that of ExecContext, without
// PrepareContext; the iteration's own time has the preparations of all steps but the first.
type Step struct {
	Name string // in reports, 1 to 64 bytes, unique in its class; steps of one name in several classes add up
	Exec Executor
}

// Task is one of the things that a user does.
type Task struct {
	Name   string // in reports, at most 32 bytes; default: the name of Fn. It must be unique in its class.
	Weight int    // how often it is picked, relative to the other weights: 0 to 1,000,000, not all 0
	Fn     VuFunc // one iteration
}

// Vus are the classes of a scenario.
type Vus []Vu

// Thresholds are conditions that a run of the scenario must meet, such as
//
//	home.latency p99 < 200ms
//	home.http_fail rate < 1% over 10s abort
//	check "has a body" rate > 99%
//
// A scenario file may define
//
//	func thresholds() scenario.Thresholds
//
// and a run that crosses one of them ends with exit status 4. docs/thresholds.md has their
// grammar.
type Thresholds []string

// User is one user created by Start. Its Iterate is called repeatedly, as Load defines, never
// by two goroutines at once; ctx ends when the run ends. An error is counted by its text, and
// the user continues with the next iteration, at the earliest 1 ms after the failed one began.
// An error that the end of the run causes is not counted. A panic ends the user and is
// counted.
//
// A User may also have
//
//	Prepare(ctx context.Context) error
//
// called before each iteration and not timed (an error skips that iteration and is counted),
// and
//
//	Close()
//
// called once, after its last iteration, also after a panic.
type User interface {
	Iterate(ctx context.Context) error
}

// Iterate is a function that implements User.
type Iterate func(ctx context.Context) error

// Iterate calls f.
func (f Iterate) Iterate(ctx context.Context) error { return f(ctx) }

// Executor is a step of a scenario. Setup runs once in each executor process before the clock
// starts, and its ctx is the parent of each iteration's ctx (of several steps, that of the Setup
// of the next one). ExecContext is the timed step; its error is counted by its text. The ctx that
// it returns goes to the next step of the same iteration, to PrepareContext if that has one; nil
// stands for the ctx that it received. It must be derived from that, and ends with the iteration.
// Several users call ExecContext at once.
type Executor interface {
	Setup(context.Context) (context.Context, error)
	ExecContext(context.Context) (context.Context, error)
}

// Preparer is an Executor that prepares each ExecContext: PrepareContext runs before it, is
// not timed, and the ctx it returns is passed to that ExecContext; nil stands for the ctx that
// it received. An error skips the ExecContext and is counted. Several users call it at once.
type Preparer interface {
	PrepareContext(context.Context) (context.Context, error)
}
