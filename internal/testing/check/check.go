// Package check verifies, from a master's store and its executors' ledgers, that the store
// has exactly what the executors counted. It reads the store by SQL of its own and adds up
// itself, because internal/master/store and internal/measure/merge are what it checks.
//
// The invariants, as violations name them:
//
//	I1  what is stored is what the executors counted, or the result names what is missing
//	I2  each batch was merged once
//	I3  batches have no gap, and a run is complete exactly if all match
//	I4  stored histograms are those of the ledgers, bucket for bucket
//	I5  series of all levels, merged and by agent, add up to the totals
//	I6  runs began in the order of their numbers, one at a time
//	I7  states followed each other as allowed, and final ones stayed
//	I8  as many users started as were asked for
//	I9  nothing of a final run is left on this host
//	I10 series lie within their run's time
//	I11 nothing in the store is without an owner
//	I12 all of this holds for a backup, and it has what the store had at one moment
//	I13 the API, its exports and gobench show have the totals of the store
package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Options select what is checked. DB is needed; what belongs to an empty field is skipped.
type Options struct {
	DB      string   // file of SQLite, or postgres://...
	Run     string   // id; empty: all runs
	Ledgers string   // folder of the ledgers of all agents
	Targets Targets  // what targets counted
	Backup  string   // file of a backup of DB
	API     string   // URL of the master
	Token   string   // of a user who may read
	Gobench string   // the program, whose "gobench show" is asked of API
	Host    bool     // check that no process or folder of a run is left on this host
	Work    []string // for Host: the agents' folders; empty: the temporary folders and all processes

	// Linger is how long processes and folders of a final run may be left. 0: 10 s.
	Linger time.Duration
}

// Targets holds what targets counted: by run, then by the title of the metric that must
// have the same count. The title "users" is for the number of users that a target saw.
type Targets map[string]map[string]int64

// Violation is a broken invariant.
type Violation struct {
	Invariant string // "I1"
	Run       string // id; empty: of the whole store
	Text      string
}

// String returns "I1: run ID: TEXT", or "I1: TEXT" for the whole store.
func (v Violation) String() string {
	if v.Run == "" {
		return v.Invariant + ": " + v.Text
	}
	return v.Invariant + ": run " + v.Run + ": " + v.Text
}

// checker collects violations. Its methods that check invariants add what they find to
// found; those that return an error do so only if they could not check.
type checker struct {
	o     Options
	found []Violation
}

// fault adds a violation; run is empty for one of the whole store.
func (c *checker) fault(invariant, run, format string, args ...any) {
	c.found = append(c.found, Violation{invariant, run, fmt.Sprintf(format, args...)})
}

// Check returns all violations; nil if there are no violations. An error means that the store,
// a ledger or the API could not be read, or that ctx ended meanwhile; what was found before is
// then discarded. A backup that cannot be read is a violation. With Host it waits for
// processes to end, until Linger after the end of the last run, or until ctx ends: what is
// left then is a violation.
func Check(ctx context.Context, o Options) ([]Violation, error) {
	if o.Linger == 0 {
		o.Linger = 10 * time.Second
	}
	c := &checker{o: o}
	s, err := read(ctx, o.DB, o.Run)
	if err != nil {
		return nil, err
	}
	ledgers := map[string][]*account{}
	if o.Ledgers != "" {
		if ledgers, err = c.readLedgers(o.Ledgers); err != nil {
			return nil, err
		}
	}
	c.store(s, ledgers)
	if o.Backup != "" {
		if err := c.backup(ctx, ledgers, s); err != nil {
			return nil, err
		}
	}
	if o.Host {
		c.host(ctx, s)
	}
	if o.API != "" {
		if err := c.exports(ctx, s); err != nil {
			return nil, err
		}
	}
	return c.found, nil
}

// store checks a store's own content, against the ledgers, by run, if there are any.
func (c *checker) store(s *stored, ledgers map[string][]*account) {
	for _, text := range s.orphans {
		c.fault("I11", "", "%s", text)
	}
	c.order(s)
	for _, r := range s.runs {
		c.transitions(r)
		c.keys(r)
		c.complete(r)
		c.series(r)
		c.times(r)
		if c.o.Ledgers != "" {
			c.ledgers(r, ledgers[r.id])
		}
		c.users(r)
	}
	if c.o.Ledgers != "" && c.o.Run == "" {
		for id := range ledgers {
			if !slices.ContainsFunc(s.runs, func(r *stored1) bool { return r.id == id }) {
				c.fault("I1", id, "there are ledgers of it, and the store does not know it")
			}
		}
	}
}

// backup checks a copy of the store, and that the store continues from it. It always
// returns nil: a backup that cannot be read is a violation too.
func (c *checker) backup(ctx context.Context, ledgers map[string][]*account, now *stored) error {
	copied, err := read(ctx, c.o.Backup, c.o.Run)
	if err != nil {
		c.fault("I12", "", "the backup can't be read: %v", err)
		return nil
	}
	of := &checker{o: c.o}
	known := map[string][]*account{}
	for _, r := range copied.runs {
		known[r.id] = ledgers[r.id]
	}
	of.store(copied, known)
	for _, v := range of.found {
		c.fault("I12", v.Run, "of the backup: %s %s", v.Invariant, v.Text)
	}
	for _, r := range now.runs {
		i := slices.IndexFunc(copied.runs, func(b *stored1) bool { return b.id == r.id })
		switch {
		case i >= 0:
			c.continues(copied.runs[i], r)
		case r.number <= copied.numbers:
			c.fault("I12", r.id, "it is not in the backup, which knows of %d runs", copied.numbers)
		}
	}
	return nil
}

// continues checks that a run of the store is the one of the backup, possibly later.
func (c *checker) continues(was, is *stored1) {
	if was.final && is.version != was.version {
		c.fault("I12", is.id, "it is final in the backup, at version %d, and has changed since, to version %d", was.version, is.version)
	}
	for i, t := range was.transitions {
		if i >= len(is.transitions) || is.transitions[i] != t {
			c.fault("I12", is.id, "transition %d of the backup, to %q, is not the store's", t.version, t.to)
		}
	}
	for _, e := range was.executors {
		i := slices.IndexFunc(is.executors, func(x *executorState) bool { return x.executor == e.executor && x.epoch == e.epoch })
		if i < 0 || is.executors[i].seq < e.seq {
			c.fault("I12", is.id, "the backup has %d batches of executor %d (epoch %d), more than the store", e.seq, e.executor, e.epoch)
		}
	}
}

// errLook is wrapped by the errors of read.
var errLook = errors.New("the store can't be checked")
