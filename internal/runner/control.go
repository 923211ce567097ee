package runner

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/wire"
)

// control is what changes of a class while it runs, by a person or because its data
// ends. A class that nobody touches pays one atomic load an iteration for it.
type control struct {
	touched atomic.Bool

	mu      sync.Mutex
	over    bool // nothing is left to do
	paused  bool
	users   int64         // active users; below 0: as the load says
	rate    float64       // starts a second of an Arrival; below 0: as its stages say
	changed chan struct{} // closed at a change, and replaced
}

func newControl() *control { return &control{users: -1, rate: -1, changed: make(chan struct{})} }

// change changes something under the lock and wakes whoever waits.
func (t *control) change(f func()) {
	t.touched.Store(true)
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
	close(t.changed)
	t.changed = make(chan struct{})
}

// wish is what a control says at a moment.
type wish struct {
	over, paused bool
	users        int64
	rate         float64
	changed      <-chan struct{} // closed at the next change
}

func (t *control) state() wish {
	t.mu.Lock()
	defer t.mu.Unlock()
	return wish{t.over, t.paused, t.users, t.rate, t.changed}
}

// Pause holds all classes: no iteration and no user starts until Resume. What is in
// flight goes on. Users whose work is one call of Fu can't be held.
func (r *Runner) Pause() { r.each(func(t *control) { t.paused = true }) }

// Resume ends a pause. The schedule of an Arrival goes on where it was held.
func (r *Runner) Resume() { r.each(func(t *control) { t.paused = false }) }

func (r *Runner) each(f func(*control)) {
	for _, c := range r.classes {
		c.control.change(func() { f(c.control) })
	}
}

// Scale sets the active users or the rate of a class, or of the only one when name
// is empty; a number below 0 leaves that as it is. Users beyond those there are get
// made; connections of the others are kept.
func (r *Runner) Scale(name string, users int64, rate float64) error {
	c, err := r.class(name)
	if err != nil {
		return err
	}
	_, open := c.vu.Load.(scenario.Arrival)
	switch {
	case users > MaxUsers || rate > maxRate:
		return fmt.Errorf("class %s: at most %d users and a rate of %d are allowed", c.name, MaxUsers, maxRate)
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
	})
	if c.pool != nil && users >= 0 {
		c.pool.only(int(users))
	}
	c.grow(users)
	return nil
}

// Control follows a person's wish, and notes it with its time.
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
		if err := r.Scale(m.Class, m.Users, m.Rate); err != nil {
			return err
		}
		c, _ := r.class(m.Class) // Scale has found it
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
	r.note(fmt.Sprintf("at %.1f s: %s", r.classes[0].now().Seconds(), what))
	return nil
}

// class finds a class by its name.
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

// grow makes users until there are n, while the class runs.
func (c *class) grow(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.closed && int64(len(c.scopes)) < n {
		c.launch(c.share.First + int64(len(c.scopes)))
	}
}

// exhausted ends the class's load because a user has nothing left to do.
func (c *class) exhausted(why string) {
	c.control.change(func() {
		if !c.control.over {
			c.control.over = true
			c.note(fmt.Sprintf("class %s ended after %.1f s: %s", c.name, c.now().Seconds(), why))
		}
	})
	c.finish()
}

// admitted waits until user vui may begin an iteration: nothing is paused, and it is
// among the users that are wanted. It reports false when the load is over first.
func (c *class) admitted(vui int) bool {
	for held := false; ; held = true {
		w := c.control.state()
		if w.over || !w.paused && (w.users < 0 || int64(vui)-c.share.First < w.users) {
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
			c.counts.active.Add(1) // live takes it off again
			return false
		case <-c.ended:
			c.counts.active.Add(1)
			return false
		}
	}
}

// flow gives an Arrival's starts as a person steers them: pauses shift what is left
// of the schedule, and a rate of its own takes the stages' place until their end.
type flow struct {
	class    *class
	schedule *arrivals
	shift    time.Duration // by how much pauses have moved the schedule
	begins   time.Duration // where schedule begins, on its own clock
	end      time.Duration // of the stages, on the schedule's clock
	rate     float64       // in force; below 0: the stages
	missed   int64         // starts that were due when the load ended, and that next had not given
}

// next waits until the next start is due and gives its planned time; ok is false
// when there is none, over when the load ended first.
func (f *flow) next(sleeper *sleeper) (planned time.Duration, ok, over bool) {
	at, ok := f.schedule.next()
	for {
		w := f.class.control.state()
		switch {
		case w.over:
			return 0, false, true
		case w.paused:
			f.class.coming.over()
			began := f.class.now()
			for w.paused && !w.over {
				select {
				case <-w.changed:
				case <-f.class.stop:
					return 0, false, true
				}
				w = f.class.control.state()
			}
			f.shift += f.class.now() - began
			f.follow()
			continue
		case w.rate >= 0 && w.rate != f.rate:
			f.rate = w.rate
			f.restart(max(f.class.now()-f.shift, 0))
			f.follow()
			at, ok = f.schedule.next()
			continue
		}
		if !ok {
			return 0, false, false
		}
		planned = f.begins + at + f.shift
		f.class.coming.next(planned)
		switch sleeper.until(f.class.now, planned, f.class.stop, w.changed) {
		case due:
			return planned, true, false
		case stopped:
			f.miss(at)
			return 0, false, true
		}
	}
}

// tooLate is how long before the end of the load a start must be due to be missed.
const tooLate = time.Millisecond

// miss counts the starts from at on that should have been given before the load
// ended.
func (f *flow) miss(at time.Duration) {
	end := time.Duration(f.class.stopped.Load() - f.class.zero.Load())
	until := end - tooLate - f.begins - f.shift
	for ok := true; ok && at <= until; at, ok = f.schedule.next() {
		f.missed++
	}
}

// follow has the class know the schedule in force.
func (f *flow) follow() {
	left := time.Duration(f.schedule.before * float64(time.Second)) // behind
	f.class.coming.follow(f.schedule.lines, f.begins+f.shift+left)
}

// restart begins a schedule at the rate in force, from now to the end of the stages.
func (f *flow) restart(now time.Duration) {
	f.begins = now
	stages := []scenario.Rate{{To: f.rate, Over: max(f.end-now, 0)}}
	load := f.class.vu.Load.(scenario.Arrival)
	f.schedule = newArrivals(scenario.Arrival{Stages: stages, Poisson: load.Poisson}, f.class.share.Part, f.class.seed, f.class.number)
}
