package runner

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/run/segment"
	"github.com/gobench-io/gobench/internal/wire"
)

// control holds the changes to a class while it runs, made by the user of gobench or because
// the class's data ends. Without changes it costs one atomic load per iteration. Any number of
// goroutines may call its methods at once.
type control struct {
	touched atomic.Bool

	mu        sync.Mutex
	over      bool // nothing is left to do
	paused    bool
	users     int64         // active users; below 0: as the load defines
	rate      float64       // starts a second of an Arrival, of all executors; below 0: as its stages define
	round     segment.Round // of its starts, if divisions is above 0
	divisions int           // how often the starts were divided among executors again
	changed   chan struct{} // closed at a change, and replaced
}

func newControl() *control { return &control{users: -1, rate: -1, changed: make(chan struct{})} }

// change calls f under the lock and wakes all goroutines that wait for a change. f must not
// call t's methods.
func (t *control) change(f func()) {
	t.touched.Store(true)
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
	close(t.changed)
	t.changed = make(chan struct{})
}

// wish is a copy of a control's state.
type wish struct {
	over, paused bool
	users        int64
	rate         float64
	round        segment.Round
	divisions    int
	changed      <-chan struct{} // closed at the next change
}

// state returns the state now. Its changed is closed at the next change.
func (t *control) state() wish {
	t.mu.Lock()
	defer t.mu.Unlock()
	return wish{t.over, t.paused, t.users, t.rate, t.round, t.divisions, t.changed}
}

// Pause pauses all classes: no iteration starts until Resume. Iterations in flight continue.
// Users that start at a Rate are still created, and wait. Users whose work is one call of Fu
// can't be paused.
func (r *Runner) Pause() {
	r.pause(true)
	r.each(func(t *control) { t.paused = true })
}

// Resume ends a pause, if there is one. The schedule of an Arrival continues where it was
// paused.
func (r *Runner) Resume() {
	r.each(func(t *control) { t.paused = false })
	r.pause(false)
}

// each changes the control of every class by f, one class after the other.
func (r *Runner) each(f func(*control)) {
	for _, c := range r.classes {
		c.control.change(func() { f(c.control) })
	}
}

// Scale sets the active users or the rate, in starts a second, of a class; name may be empty
// if there is only one class. A negative number leaves the value unchanged. Missing users are
// created; the other users keep their connections. It does not wait for users to start or end.
// If the class does not exist or can't be scaled so, it returns an error and changes nothing.
func (r *Runner) Scale(name string, users int64, rate float64) error {
	return r.scale(&wire.Control{Class: name, Users: users, Rate: rate})
}

// scale executes a Control message to scale: for the only executor, or for this one's part of
// a run with several. The error is that of Scale, or of roundOf.
func (r *Runner) scale(m *wire.Control) error {
	c, err := r.class(m.Class)
	if err != nil {
		return err
	}
	users, rate := m.Users, m.Rate
	if rate >= 0 && (m.Executors > 0 || !c.segment.All()) {
		rate = m.AllRate
	}
	round, err := roundOf(m)
	_, open := c.vu.Load.(scenario.Arrival)
	switch {
	case err != nil:
		return err
	case users > maxUsers || rate > maxRate:
		return fmt.Errorf("class %s: at most %d users and a rate of %d are allowed", c.name, maxUsers, maxRate)
	case rate >= 0 && !open:
		return fmt.Errorf("class %s has no rate: its load is %q, and only an Arrival has one", c.name, r.loads[c.number])
	case users >= 0 && once(c.vu):
		return fmt.Errorf("class %s can't change its users: each is one call of Fu", c.name)
	}
	c.control.change(func() {
		if users >= 0 {
			c.control.users = users
		}
		if rate >= 0 {
			c.control.rate = rate
		}
		if _, all := round.Users(); all > 0 {
			c.control.round = round
			c.control.divisions++
		}
	})
	if c.pool != nil && users >= 0 {
		c.pool.only(int(users))
	}
	c.grow(users)
	return nil
}

// roundOf returns this executor's part of an Arrival's starts from a Control that divides them
// again, and the zero Round for one that does not. It returns an error if m's place is
// invalid, or if its number of users is not that of the place.
func roundOf(m *wire.Control) (segment.Round, error) {
	if m.Executors == 0 || m.Users < 0 || m.AllUsers <= 0 {
		return segment.Round{}, nil
	}
	seg, err := segment.New(m.Weights, int(m.Executors), int(m.Place))
	if err != nil {
		return segment.Round{}, err
	}
	round := seg.Round(m.AllUsers)
	if own, _ := round.Users(); own != m.Users {
		return segment.Round{}, fmt.Errorf("%d of %d users as this executor's part: want %d", m.Users, m.AllUsers, own)
	}
	return round, nil
}

// Control executes a Control message (pause, resume or scale), and adds a note with its time.
// If several executors share the run, the message is for the whole run, and only the sender,
// who has divided it, adds the note. If the message is invalid, it returns an error and
// changes nothing. Any goroutine may call it while Run runs.
func (r *Runner) Control(m *wire.Control) error {
	var what string
	switch m.What {
	case "pause":
		r.Pause()
		what = "paused"
	case "resume":
		r.Resume()
		what = "resumed"
	case "scale":
		if err := r.scale(m); err != nil {
			return err
		}
		c, _ := r.class(m.Class) // Scale has checked the name
		what = "class " + c.name + " set to"
		if m.Users >= 0 {
			what += fmt.Sprintf(" %d users", m.Users)
		}
		if m.Rate >= 0 {
			what += fmt.Sprintf(" %v starts/s", m.Rate)
		}
	default:
		return fmt.Errorf("unknown control %q", m.What)
	}
	if m.Executors > 0 {
		return nil
	}
	r.note(fmt.Sprintf("at %.1f s: %s", r.classes[0].now().Seconds(), what))
	return nil
}

// class returns the class with that name, or the only class if name is empty. The error lists
// the names.
func (r *Runner) class(name string) (*class, error) {
	if name == "" && len(r.classes) == 1 {
		return r.classes[0], nil
	}
	var names []string
	for _, c := range r.classes {
		if c.name == name {
			return c, nil
		}
		names = append(names, c.name)
	}
	if name == "" {
		return nil, fmt.Errorf("there are several classes, name one of %q", names)
	}
	return nil, fmt.Errorf("no class is called %q: there are %q", name, names)
}

// grow creates users until there are n, while the class runs; n below that changes nothing. It
// does nothing once all users have finished.
func (c *class) grow(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.closed && int64(len(c.scopes)) < n {
		c.launch(int64(len(c.scopes)))
	}
}

// exhausted ends the class's load because a user has nothing left to do. why is for the
// report, which contains the first one.
func (c *class) exhausted(why string) {
	c.control.change(func() {
		if !c.control.over {
			c.control.over = true
			c.note(fmt.Sprintf("class %s ended after %.1f s: %s", c.name, c.now().Seconds(), why))
		}
	})
	c.finish()
}

// admitted waits until a user may begin an iteration: the class is not paused, and the user is
// among the active ones. It returns false if the load is over first. While it waits, the user
// does not count as active. number is the user's in this executor.
func (c *class) admitted(number int64) bool {
	for held := false; ; held = true {
		w := c.control.state()
		if w.over || !w.paused && (w.users < 0 || number < w.users) {
			if held {
				c.counts.active.Add(1)
			}
			return !w.over
		}
		if !held {
			c.counts.active.Add(-1)
		}
		select {
		case <-w.changed:
		case <-c.stop:
			c.counts.active.Add(1) // live subtracts it again
			return false
		case <-c.ended:
			c.counts.active.Add(1)
			return false
		}
	}
}
