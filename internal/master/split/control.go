package split

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/run/segment"
	"github.com/gobench-io/gobench/internal/wire"
)

// Message is a Control for one executor.
type Message struct {
	Executor Executor
	Control  *wire.Control
}

// Control splits a change of the load, whose users and rate are those of the whole run,
// negative for unchanged. It returns a new message for each executor that is not lost, in
// their order; these also take over the lost executors' users of the class. wish is not
// changed. If executors would refuse the change, it returns an error and the plan is
// unchanged.
//
// Executors write no note about a change that was split; the caller does.
func (p *Plan) Control(wish *wire.Control) ([]Message, error) {
	switch wish.What {
	case wire.Pause, wire.Resume:
		p.paused = wish.What == wire.Pause
		var all []Message
		for _, e := range p.live {
			m := proto.CloneOf(wish)
			m.Executors = uint32(len(p.live))
			all = append(all, Message{e, m})
		}
		return all, nil
	case wire.Scale:
	default:
		return nil, fmt.Errorf("unknown control %q", wish.What)
	}
	c, err := p.class(wish.Class)
	if err != nil {
		return nil, err
	}
	switch {
	case math.IsNaN(wish.Rate) || math.IsInf(wish.Rate, 0):
		return nil, fmt.Errorf("class %s: a rate can't be %v", c.Name, wish.Rate)
	case wish.Rate >= 0 && !c.open():
		return nil, fmt.Errorf("class %s has no rate: its load is %q, and only an Arrival has one", c.Name, c.Load)
	case wish.Users >= 0 && c.calls():
		return nil, fmt.Errorf("class %s can't change its users: each is one call of Fu", c.Name)
	case len(p.live) == 0:
		return nil, fmt.Errorf("class %s: all executors are lost", c.Name)
	}
	users := wish.Users
	if users < 0 && p.lost && c.open() { // the rate is to be that of the whole run
		users = p.present(c)
	}
	all, err := p.scale(c, users, wish.Rate, wish)
	if err != nil {
		return nil, err
	}
	if wish.Users >= 0 {
		c.users = wish.Users
	}
	if wish.Rate >= 0 {
		c.rate = wish.Rate
	}
	return all, nil
}

// open reports whether the class is an Arrival, and calls whether each user is one call of Fu.
func (c *class) open() bool  { return !c.Closed && len(c.Stages) > 0 }
func (c *class) calls() bool { return !c.Closed && len(c.Stages) == 0 }

// present returns the number of users of a class on the executors that are not lost, as last
// set by Control or else as declared.
func (p *Plan) present(c *class) (n int64) {
	if c.users >= 0 {
		return c.users
	}
	for i, other := range p.classes {
		if other == c {
			for _, e := range p.live {
				n += e.Start.Shares[i].Nu
			}
		}
	}
	return n
}

// scale returns the messages that set a class's users and rate, one for each executor that is
// not lost. A negative value leaves either unchanged; other fields are copied from wish. It
// does not change the plan.
func (p *Plan) scale(c *class, users int64, rate float64, wish *wire.Control) (all []Message, err error) {
	weights := p.weights()
	for i, e := range p.live {
		m := proto.CloneOf(wish)
		m.Class, m.Users, m.Rate = c.Name, -1, -1
		m.Executors, m.Place, m.Weights = uint32(len(p.live)), uint32(i), weights
		seg, err := segment.New(weights, len(p.live), i)
		if err != nil {
			return nil, err
		}
		total := users
		if users >= 0 {
			m.Users, m.AllUsers = seg.Below(users), users
		} else {
			total = p.present(c)
		}
		if rate >= 0 {
			m.Rate, m.AllRate = rate*seg.Round(total).Share(), rate
		}
		all = append(all, Message{e, m})
	}
	return all, nil
}

// weights returns the weights of the executors that are not lost, in their order: integers
// in proportion to their parts of the load, or nil if all are equal.
func (p *Plan) weights() (weights []int64) {
	common := int64(1)
	for _, e := range p.live {
		common = leastCommon(common, int64(max(e.Start.Parts, 1)))
	}
	same := true
	for i, e := range p.live {
		w := int64(1)
		if s := e.Start; len(s.Weights) > 0 {
			w = s.Weights[s.Place]
		}
		weights = append(weights, w*(common/int64(max(e.Start.Parts, 1))))
		same = same && weights[i] == weights[0]
	}
	if same {
		return nil
	}
	return weights
}

// Again returns the messages that repeat all changes so far, split over the present
// executors. They are for executors that have taken over lost ones' parts; the others may
// receive them again. The result is empty if the load was never changed.
func (p *Plan) Again() (all []Message, err error) {
	for _, c := range p.classes {
		if c.users < 0 && c.rate < 0 {
			continue
		}
		users := c.users
		if users < 0 && p.lost {
			users = p.present(c)
		}
		messages, err := p.scale(c, users, c.rate, &wire.Control{What: wire.Scale})
		if err != nil {
			return nil, err
		}
		all = append(all, messages...)
	}
	if p.paused {
		messages, err := p.Control(&wire.Control{What: wire.Pause})
		if err != nil {
			return nil, err
		}
		all = append(all, messages...)
	}
	return all, nil
}

// class returns the class with a name, or the only class if name is empty. The error lists
// the names of the classes.
func (p *Plan) class(name string) (*class, error) {
	if name == "" && len(p.classes) == 1 {
		return p.classes[0], nil
	}
	var names []string
	for _, c := range p.classes {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	if name == "" {
		return nil, fmt.Errorf("there are several classes, name one of %q", names)
	}
	return nil, fmt.Errorf("no class is called %q: there are %q", name, names)
}
