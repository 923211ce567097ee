// Package split divides the load of a run between its executors: at the beginning, when the
// load is changed, and when executors take over the parts of lost ones. It is arithmetic
// without I/O.
//
// Package segment determines which users, starts and rows belong to which executor, and the
// executors compute it themselves: a [wire.Start] has only the executor's position. So all
// executors together generate exactly the load that one would: the same users at the same
// times, the same starts of an Arrival, whatever their number and weights.
package split

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/run/segment"
	"github.com/gobench-io/gobench/internal/wire"
)

// Place is an agent that takes part in a run.
type Place struct {
	Agent     string
	Weight    int // its part of the load is proportional to it; 0 means 1
	Processes int // number of executors, which divide its part; 0 means 1
}

// Limits of a Place.
const (
	maxWeight    = 1_000_000
	maxProcesses = 1000
)

// Executor is one of a run's executors. Its Start is shared with the Plan, which identifies
// the executor by the number in it.
type Executor struct {
	Agent string
	Start *wire.Start // Start.Executor is its number in the run
}

// Plan is the split of a run's load. It is not safe for concurrent use.
type Plan struct {
	classes []*class
	rows    []string   // files of data of which each row is used once
	all     []Executor // by number
	live    []Executor // those that are not lost, by number
	gone    []Executor // lost ones whose parts were not taken over yet
	lost    bool       // an executor was lost
	paused  bool       // by a Control
	takes   int64      // number of successful calls of TakeOver
}

// class is a class of users with the changes of its load.
type class struct {
	*wire.Class
	users int64   // negative: as declared
	rate  float64 // negative: as declared
}

// New splits the load that hello declares over places. base has the fields that are the same
// in all starts. The executors are in the order of the places, numbered from base.Executor
// on. An executor's share of a class may be empty. It returns an error if there is no place,
// if a place is beyond the limits, if the weights are too different from each other, or if a
// run of one iteration has several executors. hello's classes are retained.
func New(hello *wire.Hello, places []Place, base *wire.Start) (*Plan, error) {
	weights, err := weigh(places)
	if err != nil {
		return nil, err
	}
	n := len(weights)
	if base.Once && n > 1 {
		return nil, fmt.Errorf("a run of one iteration is one executor's, and there are %d", n)
	}
	p := &Plan{rows: hello.Once}
	for _, c := range hello.Classes {
		p.classes = append(p.classes, &class{Class: c, users: -1, rate: -1})
	}
	if slices.Min(weights) == slices.Max(weights) {
		weights = nil
	}
	for _, at := range places {
		for range max(at.Processes, 1) {
			s := proto.CloneOf(base)
			s.Executor, s.Executors, s.Place = base.Executor+uint32(len(p.all)), uint32(n), uint32(len(p.all))
			s.Weights = weights
			seg, err := segmentOf(s)
			if err != nil {
				return nil, err
			}
			s.Shares = nil
			for _, c := range p.classes {
				s.Shares = append(s.Shares, c.share(seg))
			}
			p.all = append(p.all, Executor{at.Agent, s})
		}
	}
	p.exact()
	p.live = slices.Clone(p.all)
	return p, nil
}

// weigh returns the weight of each executor, in the order of places: integers in proportion
// to an agent's weight, divided by its number of processes. It returns an error if there is no
// place, if one is beyond the limits, or if the numbers of processes are too different.
func weigh(places []Place) (weights []int64, err error) {
	if len(places) == 0 {
		return nil, errors.New("no agent is there to run it")
	}
	common := int64(1) // a common multiple of the numbers of processes
	for _, p := range places {
		if p.Weight < 0 || p.Weight > maxWeight || p.Processes < 0 || p.Processes > maxProcesses {
			return nil, fmt.Errorf("agent %s has weight %d and %d processes: want up to %d and %d", p.Agent, p.Weight, p.Processes, maxWeight, maxProcesses)
		}
		if common = leastCommon(common, int64(max(p.Processes, 1))); common > segment.MaxRound {
			return nil, errors.New("the agents' numbers of processes are too different from each other to share a run exactly")
		}
	}
	for _, p := range places {
		processes := max(p.Processes, 1)
		for range processes {
			weights = append(weights, int64(max(p.Weight, 1))*common/int64(processes))
		}
	}
	return weights, nil
}

// leastCommon returns the least common multiple of two positive numbers.
func leastCommon(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}

// segmentOf returns the segment of an executor, from its weights, place and part.
func segmentOf(s *wire.Start) (segment.Segment, error) {
	seg, err := segment.New(s.Weights, int(s.Executors), int(s.Place))
	if err == nil && s.Parts > 1 {
		seg, err = seg.Part(int(s.Part), int(s.Parts))
	}
	return seg, err
}

// share returns the share of a class for a segment, as declared; empty, with Nu 0, if the
// segment has no user of it. The rate is rounded: see exact. c.Nu must be positive.
func (c *class) share(seg segment.Segment) *wire.Share {
	nu := seg.Below(c.Nu)
	part := float64(nu) / float64(c.Nu)
	s := &wire.Share{First: seg.Nth(0), Nu: nu, Rate: c.Rate * part, Part: part, Iterations: c.Iterations}
	if !c.Each {
		s.Iterations = seg.Round(c.Nu).Below(c.Iterations)
	}
	return s
}

// exact changes the rates and parts of the starts so that they add up exactly to those of the
// whole: the last executor with users gets the rounding error. Call it once, when all have
// their shares.
func (p *Plan) exact() {
	for i, c := range p.classes {
		rate, part := 0.0, 0.0
		var last *wire.Share
		for _, e := range p.all {
			if s := e.Start.Shares[i]; s.Nu > 0 {
				if last != nil {
					rate, part = rate+last.Rate, part+last.Part
				}
				last = s
			}
		}
		if last != nil {
			last.Rate, last.Part = c.Rate-rate, 1-part
		}
	}
}

// Executors returns the executors that are not lost, by number, in a new slice.
func (p *Plan) Executors() []Executor { return slices.Clone(p.live) }

// Starts returns the starts of Executors, in the same order. They are shared with the plan.
func (p *Plan) Starts() (starts []*wire.Start) {
	for _, e := range p.live {
		starts = append(starts, e.Start)
	}
	return starts
}
